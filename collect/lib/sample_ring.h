/* sample_ring.h - a ring buffer that passes samples to the collecting thread.
 *
 * One writer at a time (a handler in its thread, or the holder of the ring's lock), one reader.
 * Words of eight bytes:
 *
 *     | frames u16, end u8, kind u8, wait u8 | thread | time, monotonic ns | 2 values |
 *     | trace id 2 words | span id | frames ... |
 *
 * A sample that does not fit is dropped and counted: no thread waits. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/profiling_keys.h"
#include "collect/lib/sample_kind.h"

enum { SF_RING_WORDS = 1024, SF_SAMPLE_FRAMES = SF_PROFILING_DEPTH_MAX, SF_SAMPLE_HEAD = 8 };

struct sf_sample_ring {
    atomic_uint head, tail; /* words written and read; the counters wrap around */
    atomic_uint_fast64_t dropped;
    uint64_t words[SF_RING_WORDS];
};

struct sf_raw_sample {
    uint16_t n_frames;
    uint8_t end;  /* enum sf_walk_end */
    uint8_t kind; /* enum sf_sample_kind */
    uint8_t wait; /* enum sf_wait */
    uint32_t thread;
    uint64_t time_ns;                 /* monotonic; of a wait, its end; 0: several times */
    uint64_t values[2];               /* count and amount, depending on the kind */
    uint8_t trace_id[16], span_id[8]; /* zero: no span */
    uintptr_t frames[SF_SAMPLE_FRAMES];
};

/* Safe in handlers. */
bool sf_sample_ring_put(struct sf_sample_ring *r, const struct sf_raw_sample *s);
bool sf_sample_ring_get(struct sf_sample_ring *r, struct sf_raw_sample *out); /* false: empty */
bool sf_sample_ring_is_empty(const struct sf_sample_ring *r);
/* Whether more than half of it is unread. */
bool sf_sample_ring_is_filling(const struct sf_sample_ring *r);
