/* lane.h - the queue of calls for one kind of threads; decides which call is next.
 *
 * Tenants take turns, and within a tenant its clients: a client that sends a thousand queries
 * delays only itself. A client never runs on all threads of a lane that has more than one, so that
 * the next client finds a thread free. A call that could not begin in time is refused at once. Any
 * thread. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sf_call;
struct sf_lane;

/* Identifies the client; hashes of base/key.h. Clients with equal hashes share their turn: that
 * only costs fairness. */
struct sf_lane_client {
    uint64_t tenant, client;
};

struct sf_lane *sf_lane_new(size_t cap, size_t client_cap); /* NULL: no memory */
void sf_lane_free(struct sf_lane *l);                       /* the lane must be empty; NULL is
                                                             * fine */
/* To be called before threads take: their number, and how long a call may wait at most (0: no
 * limit). */
void sf_lane_serve(struct sf_lane *l, unsigned n_threads, int64_t wait_ns);

/* Never waits. BUSY: *out_refused is the call to refuse, *out_after_s the time after which to
 * retry. The refused call is this one when its client has too many waiting calls, or when these
 * would take longer than a call may wait; calls whose connection is closed do not count. When the
 * lane is full, it is a call whose connection is closed, or else the newest call of the client with
 * the most. CANCELLED: the lane is closed, the call is still yours. */
enum sf_err sf_lane_give(struct sf_lane *l, struct sf_call *call, struct sf_call **out_refused,
                         unsigned *out_after_s, struct sf_why *why);
/* Waits for the next call; NULL once the lane is closed and empty. *out is for sf_lane_end(). */
struct sf_call *sf_lane_take(struct sf_lane *l, struct sf_lane_client *out);
/* Reports that the call ran for `ran_ns` and was answered: its thread is free. */
void sf_lane_end(struct sf_lane *l, struct sf_lane_client client, int64_t ran_ns);
/* Only one running call at a time may hold much memory. While another has the turn, waits for it if
 * `waits`; without `waits`, or when another call waits already, fails with BUSY. Also DEADLINE,
 * CANCELLED. The caller must not hold much memory while waiting. */
enum sf_err sf_lane_take_large(struct sf_lane *l, bool waits, int64_t deadline_ns,
                               const atomic_bool *cancel, struct sf_why *why);
void sf_lane_pass_large(struct sf_lane *l);
size_t sf_lane_depth(struct sf_lane *l);
void sf_lane_close(struct sf_lane *l); /* no more calls are accepted; takers get the remaining ones,
                                        * then NULL */
