/* lane.h - calls that wait for the threads of one kind, and which of them is next.
 *
 * Tenants take turns, and within a tenant its clients: one that sends a thousand queries waits for
 * its own, not the others for it. A client never runs on all threads of a lane that has more than
 * one, so that the next client finds a thread free. A call that could not begin in time is refused
 * at once. Any thread. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sf_call;
struct sf_lane;

/* Whose call it is; hashes of base/key.h. Equal ones share: that costs fairness and nothing else.
 */
struct sf_lane_client {
    uint64_t tenant, client;
};

struct sf_lane *sf_lane_new(size_t cap, size_t client_cap); /* NULL: no memory */
void sf_lane_free(struct sf_lane *l);                       /* empty; NULL is fine */
/* Before threads take: how many will, and how long a call may wait at most (0: for ever). */
void sf_lane_serve(struct sf_lane *l, unsigned n_threads, int64_t wait_ns);

/* Never waits. BUSY: *out_refused is the call to refuse, *out_after_s when to come back. It is this
 * one when its client has too many waiting, or when those would take longer than a call may wait;
 * calls whose connection is gone do not count. With a full lane it is one of those, or else the
 * newest of the client that has most. CANCELLED: the lane is closed, the
 * call is still yours. */
enum sf_err sf_lane_give(struct sf_lane *l, struct sf_call *call, struct sf_call **out_refused,
                         unsigned *out_after_s, struct sf_why *why);
/* Waits for the next call; NULL once the lane is closed and empty. *out is for sf_lane_end(). */
struct sf_call *sf_lane_take(struct sf_lane *l, struct sf_lane_client *out);
/* The call is answered after `ran_ns`: its client's thread is free. */
void sf_lane_end(struct sf_lane *l, struct sf_lane_client client, int64_t ran_ns);
/* Of the calls that run, one at a time may hold much memory. Waits until it is the caller's turn,
 * or not at all: BUSY, as when another waits already; DEADLINE, CANCELLED. Nothing large may be
 * held meanwhile. */
enum sf_err sf_lane_take_large(struct sf_lane *l, bool waits, int64_t deadline_ns,
                               const atomic_bool *cancel, struct sf_why *why);
void sf_lane_pass_large(struct sf_lane *l);
size_t sf_lane_depth(struct sf_lane *l);
void sf_lane_close(struct sf_lane *l); /* no more gives; takers drain, then get NULL */
