/* query_turn.h - a query of a lane, run within its memory.
 *
 * What a query holds is counted where memory is handed out (base/account.h). Queries without the
 * turn share a part of the budget; one that needs more takes the turn, and when another has it, it
 * releases everything, waits and starts over. One that needs more than a query may hold ends with
 * LIMIT. */
#pragma once
#include "serve/call.h"

/* Of the pool and of one query, from the server's memory. */
void sf_query_turn_init(struct sf_service *s);
/* Answers the call: it is finished, or will be by its handler. */
void sf_query_turn_run(struct sf_call *call, struct sf_worker *worker);

/* What the server asks by itself for these tenants ("a|b") counts like a query of theirs, and never
 * takes the turn from those that people wait for. Until it is closed, which says what became of
 * `err`: LIMIT when less is to be requested, BUSY when it may fit later, DEADLINE, CANCELLED. */
void sf_query_turn_open_own(struct sf_service *s, sf_str tenants, struct sf_worker *worker,
                            int64_t until_ns, const atomic_bool *cancel);
enum sf_err sf_query_turn_close_own(struct sf_worker *worker, enum sf_err err, struct sf_why *why);
