/* selection.h - selects the requests whose samples carry span ids, when not all do.
 *
 * Every request is sampled and counts in the totals. Below a share of 100 % a sample keeps its
 * trace and span ids only if the request is in the share (by its trace id, see base/trace_share.h),
 * asked for it, or turned out slow, failed or CPU-heavy by the time its window is sent. A request
 * that is still running then keeps them, too. Otherwise the ids are removed before the window is
 * sent. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/profiling_keys.h"
#include "collect/lib/profile_table.h"

struct sf_span_slot;

/* To be called before the first span, and when the server changes the rules; one thread at a
 * time. */
void sf_selection_init(const struct sf_profiling *block);
/* Called when a local root span begins and ends, in a thread of the program. */
void sf_selection_begin(struct sf_span_slot *root);
void sf_selection_end(const struct sf_span_slot *root, int64_t length_ns);
/* Called in the collecting thread when a window is sent: removes ids, and forgets requests older
 * than two windows. */
void sf_selection_apply(struct sf_profile_table *t);
void sf_selection_next_window(void);
/* Whether threads whose requests have run for slow_request_threshold or longer are sampled more
 * often; and these threads, at most `max`. */
bool sf_selection_escalates(void);
uint32_t sf_selection_slow(uint32_t *tids, uint32_t max);
void sf_selection_after_fork(void);
