/* sample.h - samples taken at an event: an allocation, a lock, a call that waited.
 *
 * The CPU profiler's handler has a ring per thread. All other profilers share a few rings, each
 * with a lock that is tried but never waited for: a hook, or a signal handler that interrupted one,
 * uses another free ring or drops its sample and counts it. Nothing here waits, allocates or
 * changes errno. */
#pragma once
#include "collect/lib/sample_ring.h"

/* Maximum number of frames to walk; deeper stacks lose their outermost frames. Set before the first
 * start. */
extern uint16_t sf_sample_max_frames;

/* Fills in the calling thread's id, the time, its active span and its stack as the program sees it.
 * With `is_hook_kept` the first frame is the hook itself ("pthread_mutex_lock"), else the function
 * that contains `caller`. A hook gives its __builtin_return_address(0). The caller sets kind, wait
 * and values. */
void sf_sample_fill(struct sf_raw_sample *s, const void *caller, bool is_hook_kept);
/* Sets the sample's ids to this thread's active span. Safe in handlers. */
void sf_sample_note_span(struct sf_raw_sample *s);
struct sf_thread_state;
void sf_sample_note_span_of(struct sf_raw_sample *s, const struct sf_thread_state *t);

/* Gives a complete sample to the collecting thread. False: dropped and counted. */
bool sf_sample_give(const struct sf_raw_sample *s);
/* Both of the above for a wait, with its own memory for the sample. `rest` are values of earlier
 * waits, which become a second sample with the same stack, but without a time and a span; it is
 * set to zero when that was given. */
bool sf_sample_take_wait(enum sf_sample_kind kind, enum sf_wait wait, const uint64_t values[2],
                         uint64_t rest[2], const void *caller);

/* Called in the collecting thread: returns the samples given so far, one by one; false: no more. */
bool sf_sample_next(struct sf_raw_sample *out);
uint64_t sf_sample_dropped(void); /* since the last call */
void sf_sample_after_fork(void);
