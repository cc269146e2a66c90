/* ingest_wait.h - requests with spans or profiles wait for memory before they are refused.
 *
 * A sender that is faster than the disk fills the memory of rows until a flush has freed some. That
 * passes by itself, so what comes meanwhile waits in the ingest queue, and the sender with it: its
 * connection is not read any further. A request that has waited for SF_LIMIT_SPANS_WAIT_MS or
 * SF_LIMIT_PROFILES_WAIT_MS without success is refused; profiles first, as docs/overload.md states.
 * Other shortages (disk, blocks that wait to be merged) last longer and are reported at once. */
#pragma once
#include "serve/call.h"

bool sf_ingest_wait_is_spans(const struct sf_route *route); /* or profiles */
/* On a loop's thread, before the body is read: may the request wait for what is short now? */
bool sf_ingest_wait_may(const struct sf_call *call);

enum sf_ingest_wait {
    SF_INGEST_WAIT_OVER,   /* take the request now */
    SF_INGEST_WAIT_LONGER, /* it is in the queue again and no longer yours */
    SF_INGEST_WAIT_IN_VAIN /* it is refused; the answer is filled */
};
/* On an ingest thread, which sleeps for a millisecond before a request goes back. */
enum sf_ingest_wait sf_ingest_wait(struct sf_call *call);
