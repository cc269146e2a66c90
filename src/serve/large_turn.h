/* large_turn.h - one large body in memory at a time.
 *
 * A request that arrives while another has the turn is parked: the call waits in a list, its body
 * in the spool file or the listener's budget, and the thread continues with the next request. When
 * the turn is passed on, the oldest parked call goes back to the ingest queue. Any thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "os/thread.h"

struct sf_call;
struct sf_service;

struct sf_large_turns {
    struct sf_mutex mutex; /* guards all below; no other lock is taken while it is held */
    bool is_taken;
    struct sf_call *first, *last; /* parked, oldest first */
    size_t n_parked;
};

enum sf_large_turn {
    SF_LARGE_TURN_MINE,   /* continue, and call sf_large_turn_pass() afterwards */
    SF_LARGE_TURN_PARKED, /* the call is no longer the caller's: it returns to the ingest queue
                           * later */
    SF_LARGE_TURN_REFUSED /* too many calls are parked; the answer is filled */
};

/* Takes the turn; MINE at once if the call already has it. */
enum sf_large_turn sf_large_turn_take(struct sf_call *call);
void sf_large_turn_pass(struct sf_call *call); /* does nothing for a call without the turn */
/* Runs `attempt` on a body. A body that is large as sent waits for the turn first. One that is
 * small runs at once, and a second time with the turn when LIMIT shows that it is large
 * decompressed. `max_len` limits its decompressed length. MINE: *out_err is the result of the
 * attempt; the caller passes the turn on. */
enum sf_large_turn sf_large_turn_run(struct sf_call *call,
                                     enum sf_err (*attempt)(void *arg, size_t max_len,
                                                            struct sf_why *why),
                                     void *arg, enum sf_err *out_err, struct sf_why *why);
size_t sf_large_turn_parked(struct sf_service *s);
