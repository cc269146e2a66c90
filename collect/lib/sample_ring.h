/* sample_ring.h - samples from a signal handler to the thread that collects them.
 *
 * One writer (the handler, in its thread), one reader. Words of eight bytes:
 *
 *     | frames u16, weight u32, end u8 | time, monotonic ns | trace id 2 words | span id | frames
 * ... |
 *
 * A sample that does not fit is dropped and counted: a handler never waits. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SF_RING_WORDS = 1024, SF_SAMPLE_FRAMES = 128, SF_SAMPLE_HEAD = 5 };

struct sf_sample_ring {
    atomic_uint head, tail; /* words written and read; they wrap by themselves */
    atomic_uint_fast64_t dropped;
    uint64_t words[SF_RING_WORDS];
};

struct sf_sample {
    uint16_t n_frames;
    uint32_t weight;
    uint8_t end; /* enum sf_walk_end */
    uint64_t time_ns;
    uint8_t trace_id[16], span_id[8]; /* zero: no span */
    uintptr_t frames[SF_SAMPLE_FRAMES];
};

/* Safe in handlers. `frames` lie elsewhere: the handler walks into a buffer of its thread. */
bool sf_sample_ring_put(struct sf_sample_ring *r, const struct sf_sample *s);
bool sf_sample_ring_get(struct sf_sample_ring *r, struct sf_sample *out); /* false: empty */
