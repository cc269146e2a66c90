/* active.h - the active span of a thread. */
#pragma once
#include "collect/lib/span_pool.h"
#include "collect/lib/thread.h"

/* The slot of the active span. A span that another thread has ended is replaced by the one below
 * it, and the thread's record is updated. NULL: none (there may be a context of another tracer). */
struct sf_span_slot *sf_active_slot(struct sf_thread_state *t);
/* Makes a span active; NULL: none is. */
void sf_active_set(struct sf_thread_state *t, const struct sf_span_slot *slot);
