/* thread_line.h - determines which thread worked for a span at each time.
 *
 * Samples that name the span decide: while such a sample lasts, its thread is the span's. Between
 * two samples of one thread the thread stays; between two of different threads it changes half way
 * (the span was handed over). If samples of several threads overlap, the span's own `thread.id` is
 * preferred, then the thread that was there first: the others worked in parallel. Before the first
 * such sample, and if there are none, it is the span's `thread.id`. If that is unknown, so is the
 * thread: samples of unrelated threads are not used. */
#pragma once
#include "base/arena.h"
#include "base/err.h"

struct sf_thread_tie { /* a sample that names the span */
    uint64_t thread;   /* not 0 */
    uint64_t start_ns, end_ns;
};

struct sf_thread_piece {
    uint64_t start_ns, end_ns;
    uint64_t thread; /* 0: unknown */
};

struct sf_thread_line {
    /* Sorted by time, they tile the span; neighbours differ. */
    const struct sf_thread_piece *pieces;
    uint32_t n; /* at least 1 */
};

/* `ties` are reordered. LIMIT: the arena is full. */
enum sf_err sf_thread_line_make(uint64_t start_ns, uint64_t end_ns, uint64_t span_thread,
                                struct sf_thread_tie *ties, uint32_t n_ties, struct sf_arena *req,
                                struct sf_thread_line *out, struct sf_why *why);

/* The piece at a time; for times outside the span, the nearest one. */
const struct sf_thread_piece *sf_thread_line_at(const struct sf_thread_line *l, uint64_t at_ns);
