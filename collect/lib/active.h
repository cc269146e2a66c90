/* active.h - which span a thread works on. */
#pragma once
#include "collect/lib/span_pool.h"
#include "collect/lib/thread.h"

/* The active span's slot; one that another thread has ended gives way to the one under it, and the
 * record follows. NULL: none (a foreign context may be there all the same). */
struct sf_span_slot *sf_active_slot(struct sf_thread_state *t);
/* Makes it active; NULL: nothing is. */
void sf_active_set(struct sf_thread_state *t, const struct sf_span_slot *slot);
