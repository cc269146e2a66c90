/* ingest_wait.h - requests with spans or profiles wait for memory before they are refused.
 *
 * A sender that is faster than the disk fills the memory of rows until a flush has freed some. That
 * is temporary, so requests that arrive meanwhile wait in the ingest queue, and the server stops
 * reading from their connections. A request that has waited for SF_LIMIT_SPANS_WAIT_MS or
 * SF_LIMIT_PROFILES_WAIT_MS without success is refused; profiles first, as docs/overload.md states.
 * Other shortages (disk, blocks that wait to be merged) last longer and are reported at once. */
#pragma once
#include "serve/call.h"

bool sf_ingest_wait_is_spans(const struct sf_route *route); /* or profiles */
/* Called on a loop's thread, before the body is read: may the request wait until the shortage
 * ends? */
bool sf_ingest_wait_may(const struct sf_call *call);

enum sf_ingest_wait {
    SF_INGEST_WAIT_OVER,   /* continue with the request now */
    SF_INGEST_WAIT_LONGER, /* the request is in the queue again and no longer the caller's */
    SF_INGEST_WAIT_IN_VAIN /* it is refused; the answer is filled */
};
/* Called on an ingest thread which has begun with a request and finds no memory for it, although it
 * did not have to wait before: the other threads were faster. Sleeps for 1 ms. False: the request
 * has waited as long as it may, its client has disconnected, or the server stops. */
bool sf_ingest_wait_turn(const struct sf_call *call);
/* Gives the batch of a request to the store, again and again while the store has no memory for it
 * and the request may wait. BUSY, FULL and others: the batch is still the caller's. */
enum sf_err sf_ingest_wait_append(struct sf_call *call, unsigned writer, struct sf_batch **give,
                                  struct sf_why *why);
/* Called on an ingest thread; it sleeps for 1 ms before the request goes back to the queue. */
enum sf_ingest_wait sf_ingest_wait(struct sf_call *call);
