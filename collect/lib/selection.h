/* selection.h - which requests' samples name their spans, when that is not all of them.
 *
 * Every request is sampled and counts in the totals. Below a share of 100 % a sample keeps its
 * trace and span ids only if the request is in the share (by its trace id, as everywhere), was
 * requested, or turned out slow, failed or CPU-heavy by the time its window is sent. A request that
 * still runs then keeps them, too. Otherwise the ids are taken off before the window leaves. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/profiling_keys.h"
#include "collect/lib/profile_table.h"

struct sf_span_slot;

/* Before the first span, and when the server changes it; one thread at a time. */
void sf_selection_init(const struct sf_profiling *block);
/* A local root begins and ends, in a thread of the program's. */
void sf_selection_begin(struct sf_span_slot *root);
void sf_selection_end(const struct sf_span_slot *root, int64_t length_ns);
/* In the collecting thread, when a window is sent: removes ids, and drops what is two windows old.
 */
void sf_selection_apply(struct sf_profile_table *t);
void sf_selection_next_window(void);
/* Threads whose requests run for slow_request_threshold or longer, when such are sampled more
 * often; how many of at most `max`. */
bool sf_selection_escalates(void);
uint32_t sf_selection_slow(uint32_t *tids, uint32_t max);
void sf_selection_after_fork(void);
