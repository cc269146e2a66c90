/* sample.h - samples taken where something happens: an allocation, a lock, a call that waited.
 *
 * The CPU profiler's handler has a ring per thread. Everybody else shares a few rings, each with a
 * lock that is only ever tried: a hook, and a signal handler that interrupted one, finds another
 * ring free or drops its sample and counts it. Nothing here waits, allocates or changes errno. */
#pragma once
#include "collect/lib/sample_ring.h"

/* Frames that are walked; deeper stacks are cut at their outer end. Set before the first start. */
extern uint16_t sf_sample_max_frames;

/* Of the calling thread: its id, the time, its active span and its stack, as the program sees it:
 * the first frame is the one that returns to `caller`'s function when `is_hook_kept` (the hook
 * itself: "pthread_mutex_lock"), else the one `caller` lies in. A hook gives its
 * __builtin_return_address(0). Kind, wait and values are the caller's affair. */
void sf_sample_fill(struct sf_raw_sample *s, const void *caller, bool is_hook_kept);
/* The span this thread works on, as the sample's ids. Safe in handlers. */
void sf_sample_note_span(struct sf_raw_sample *s);
struct sf_thread_state;
void sf_sample_note_span_of(struct sf_raw_sample *s, const struct sf_thread_state *t);

/* A ready sample to the collecting thread. False: dropped and counted. */
bool sf_sample_give(const struct sf_raw_sample *s);
/* Both, with memory of its own for the sample. */
bool sf_sample_take(enum sf_sample_kind kind, enum sf_wait wait, const uint64_t values[2],
                    const void *caller, bool is_hook_kept);

/* In the collecting thread: everything given so far, one after the other; false: no more. */
bool sf_sample_next(struct sf_raw_sample *out);
uint64_t sf_sample_dropped(void); /* since the last time it was asked */
void sf_sample_after_fork(void);
