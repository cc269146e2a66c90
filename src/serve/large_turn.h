/* large_turn.h - one large body in memory at a time.
 *
 * A request that arrives while another has the turn is parked: the call waits in a list, its body
 * in the spool file or the listener's budget, and the thread continues with the next request.
 * Passing the turn on puts the first of them back into the ingest queue. Any thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "os/thread.h"

struct sf_call;
struct sf_service;

struct sf_large_turns {
    struct sf_mutex mutex; /* guards all below; takes nothing */
    bool is_taken;
    struct sf_call *first, *last; /* parked, oldest first */
    size_t n_parked;
};

enum sf_large_turn {
    SF_LARGE_TURN_MINE,   /* continue, and pass it on afterwards */
    SF_LARGE_TURN_PARKED, /* the call is no longer yours: it comes again when its turn has come */
    SF_LARGE_TURN_REFUSED /* too many wait; the answer is filled */
};

/* For a call that already has the turn, this is reported. */
enum sf_large_turn sf_large_turn_take(struct sf_call *call);
void sf_large_turn_pass(struct sf_call *call); /* one without it: nothing happens */
/* Runs `attempt` on a body: at once while it is small; in its turn when it is large on the wire, or
 * when LIMIT shows that it is large inflated, and then a second time. `max_len` is what the body
 * may hold inflated. MINE: *out_err is what the attempt gave; the caller passes the turn on. */
enum sf_large_turn sf_large_turn_run(struct sf_call *call,
                                     enum sf_err (*attempt)(void *arg, size_t max_len,
                                                            struct sf_why *why),
                                     void *arg, enum sf_err *out_err, struct sf_why *why);
size_t sf_large_turn_parked(struct sf_service *s);
