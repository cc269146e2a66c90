/* large_turn.h - one large body in memory at a time.
 *
 * Whoever comes while another has the turn is parked: the call waits in a list, its body in the
 * spool file or the listener's budget, and the thread goes on with the next request. Passing the
 * turn on puts the first of them back into the ingest queue. Any thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "os/thread.h"

struct sf_call;
struct sf_service;

struct sf_large_turns {
    struct sf_mutex mutex; /* guards all below */
    bool is_taken;
    struct sf_call *first, *last; /* parked, oldest first */
    size_t n_parked;
};

enum sf_large_turn {
    SF_LARGE_TURN_MINE,   /* go on, and pass it on afterwards */
    SF_LARGE_TURN_PARKED, /* the call is no longer yours: it comes again when its turn has come */
    SF_LARGE_TURN_REFUSED /* too many wait; the answer is filled */
};

/* A call that has the turn already is told so. */
enum sf_large_turn sf_large_turn_take(struct sf_call *call);
void sf_large_turn_pass(struct sf_call *call); /* one without it: nothing happens */
size_t sf_large_turn_parked(struct sf_service *s);
