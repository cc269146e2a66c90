/* large_turn.h - memory for decoding requests, and one large body in memory at a time.
 *
 * What a thread allocates while it decodes a request is counted in an account. Requests share a
 * small pool; the one that has the turn may hold more, as long as the process stays within its
 * memory. A request that is large as sent waits for the turn before it begins; one that turns out
 * to be large begins again when it has the turn.
 *
 * A request that arrives while another has the turn is parked: the call waits in a list, its body
 * in the spool file or the listener's budget, and the thread continues with the next request. When
 * the turn is passed on, the oldest parked call goes back to the ingest queue. Any thread. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/account.h"
#include "base/err.h"
#include "os/thread.h"

struct sf_call;
struct sf_service;
struct sf_worker;

struct sf_large_turns {
    struct sf_mutex mutex; /* guards all below; no other lock is taken while it is held */
    bool is_taken;
    struct sf_call *first, *last; /* parked, oldest first */
    size_t n_parked;
    /* Sizes that follow from the server's memory. */
    size_t memory_len;
    size_t body_len;             /* a longer body is large */
    struct sf_account_pool pool; /* of all requests that are decoded without the turn */
    size_t sure_len, most_len; /* of the request with the turn: always; while the process has it */
    /* Whether the process holds more than its memory, looked at from time to time. While it does,
     * one request is decoded at a time. */
    atomic_bool is_short;
    atomic_int_fast64_t looked_ns;
    atomic_uint n_decoding; /* requests from their first attempt to sf_large_turn_end() */
};

enum sf_large_turn {
    SF_LARGE_TURN_MINE,   /* continue */
    SF_LARGE_TURN_PARKED, /* the call is no longer the caller's: it returns to the ingest queue
                           * later */
    SF_LARGE_TURN_REFUSED /* too many calls are parked; the answer is filled */
};

/* Computes the sizes, also those of `intake`, from `memory_len`. */
void sf_large_turn_init(struct sf_service *s);
/* Takes the turn; MINE at once if the call already has it. */
enum sf_large_turn sf_large_turn_take(struct sf_call *call);
void sf_large_turn_pass(struct sf_call *call); /* does nothing for a call without the turn */
/* Runs `attempt` on a body. A body that is large as sent waits for the turn first. One that is
 * small runs at once, and a second time with the turn when it needs more memory, or is longer
 * decompressed, than a small one may: after a failure, `attempt` must be possible again. `max_len`
 * limits its decompressed length. MINE: *out_err is the result of the attempt; BUSY if the memory
 * is used by others, LIMIT if the request can never have it. The worker has the turn and the memory
 * until sf_large_turn_end(). */
enum sf_large_turn sf_large_turn_run(struct sf_call *call, struct sf_worker *worker,
                                     enum sf_err (*attempt)(void *arg, size_t max_len,
                                                            struct sf_why *why),
                                     void *arg, enum sf_err *out_err, struct sf_why *why);
/* To be called when the worker's request is decoded and stored, or has failed; without
 * sf_large_turn_run() before, it does nothing. */
void sf_large_turn_end(struct sf_service *s, struct sf_worker *worker);
size_t sf_large_turn_parked(struct sf_service *s);
