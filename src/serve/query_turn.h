/* query_turn.h - runs a query of a lane within its memory limits.
 *
 * Allocations of a query are counted (base/account.h). Queries without the turn share a part of the
 * budget. A query that needs more takes the turn, which one query has at a time; when another has
 * it, the query frees its memory, waits and starts over. A query that needs more than the limit of
 * one query ends with LIMIT. */
#pragma once
#include "serve/call.h"

/* Computes the limits of the pool and of one query from the server's memory. */
void sf_query_turn_init(struct sf_service *s);
/* Answers the call: it is finished, or its handler will finish it. */
void sf_query_turn_run(struct sf_call *call, struct sf_worker *worker);

/* Runs the server's own queries between open and close. They count as queries of these tenants
 * ("a|b") and never take the turn that clients' queries need. Close translates `err`: LIMIT when
 * less must be requested, BUSY when a retry may fit, DEADLINE, CANCELLED. */
void sf_query_turn_open_own(struct sf_service *s, sf_str tenants, struct sf_worker *worker,
                            int64_t until_ns, const atomic_bool *cancel);
enum sf_err sf_query_turn_close_own(struct sf_worker *worker, enum sf_err err, struct sf_why *why);
