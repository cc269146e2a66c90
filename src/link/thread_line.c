/* thread_line.c - determines which thread worked for a span at each time.
 *
 * Consecutive ties of one thread are joined to a run if the gap between them is at most as long as
 * one of the two ties: sampling leaves such gaps. Runs are then processed by start. A chosen run
 * lasts until its end, or until a run of the span's own thread begins. */
#include "link/thread_line.h"

#include <stdlib.h>

struct walk {
    const struct sf_thread_tie *runs; /* by start */
    uint32_t n_runs;
    uint64_t own; /* the span's thread.id; 0: unknown */
    uint64_t end_ns;
    struct sf_thread_piece *pieces;
    uint32_t n;
};

static int order_by_thread(const void *a, const void *b)
{
    const struct sf_thread_tie *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int thread_line_order_by_start(const void *a, const void *b)
{
    const struct sf_thread_tie *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

/* Clips ties to the span; drops those outside. */
static uint32_t thread_line_clip(struct sf_thread_tie *ties, uint32_t n, uint64_t start_ns,
                                 uint64_t end_ns)
{
    uint32_t n_kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct sf_thread_tie t = ties[i];
        t.start_ns = t.start_ns > start_ns ? t.start_ns : start_ns;
        t.end_ns = t.end_ns < end_ns ? t.end_ns : end_ns;
        if (t.thread != 0 && t.start_ns < t.end_ns)
            ties[n_kept++] = t;
    }
    return n_kept;
}

static uint32_t join_runs(struct sf_thread_tie *ties, uint32_t n)
{
    uint32_t n_runs = 0;
    uint64_t last_ns = 0; /* length of the run's last tie */
    for (uint32_t i = 0; i < n; i++) {
        struct sf_thread_tie t = ties[i];
        struct sf_thread_tie *run = n_runs > 0 ? &ties[n_runs - 1] : NULL;
        uint64_t len_ns = t.end_ns - t.start_ns;
        uint64_t gap_ns = last_ns > len_ns ? last_ns : len_ns;
        last_ns = len_ns;
        if (run && run->thread == t.thread &&
            (t.start_ns <= run->end_ns || t.start_ns - run->end_ns <= gap_ns))
            run->end_ns = t.end_ns > run->end_ns ? t.end_ns : run->end_ns;
        else
            ties[n_runs++] = t;
    }
    return n_runs;
}

static void thread_line_add(struct walk *w, uint64_t end_ns, uint64_t thread)
{
    uint64_t at_ns = w->pieces[w->n].start_ns; /* start of the current piece */
    if (end_ns <= at_ns)
        return;
    if (w->n > 0 && w->pieces[w->n - 1].thread == thread) {
        w->pieces[w->n - 1].end_ns = end_ns;
    } else {
        w->pieces[w->n].end_ns = end_ns;
        w->pieces[w->n++].thread = thread;
    }
    w->pieces[w->n].start_ns = end_ns;
}

/* Fills the time from the current piece's start to the next run, or to the span's end. */
static void bridge(struct walk *w, const struct sf_thread_tie *next)
{
    uint64_t at_ns = w->pieces[w->n].start_ns;
    uint64_t last = w->n > 0 ? w->pieces[w->n - 1].thread : 0;
    if (!next) {
        thread_line_add(w, w->end_ns, last ? last : w->own);
        return;
    }
    if (last == 0) {
        thread_line_add(w, next->start_ns, w->own ? w->own : next->thread);
        return;
    }
    if (last != next->thread)
        thread_line_add(w, at_ns + (next->start_ns - at_ns) / 2, last);
    thread_line_add(w, next->start_ns, next->thread);
}

static uint32_t skip(const struct walk *w, uint32_t at, uint64_t thread, uint64_t now_ns)
{
    while (at < w->n_runs &&
           (w->runs[at].end_ns <= now_ns || (thread != 0 && w->runs[at].thread != thread)))
        at++;
    return at;
}

static void walk_runs(struct walk *w)
{
    uint32_t any = 0, own = 0;
    for (;;) {
        uint64_t now_ns = w->pieces[w->n].start_ns;
        any = skip(w, any, 0, now_ns);
        own = w->own ? skip(w, own, w->own, now_ns) : w->n_runs;
        const struct sf_thread_tie *first = any < w->n_runs ? &w->runs[any] : NULL;
        const struct sf_thread_tie *mine = own < w->n_runs ? &w->runs[own] : NULL;
        if (!first) {
            bridge(w, NULL);
            return;
        }
        if (mine && mine->start_ns <= now_ns)
            thread_line_add(w, mine->end_ns, mine->thread);
        else if (first->start_ns > now_ns)
            bridge(w, first);
        else
            thread_line_add(w,
                            mine && mine->start_ns < first->end_ns ? mine->start_ns : first->end_ns,
                            first->thread);
    }
}

enum sf_err sf_thread_line_make(uint64_t start_ns, uint64_t end_ns, uint64_t span_thread,
                                struct sf_thread_tie *ties, uint32_t n_ties, struct sf_arena *req,
                                struct sf_thread_line *out, struct sf_why *why)
{
    struct walk w = {.runs = ties, .own = span_thread, .end_ns = end_ns};
    uint32_t n = thread_line_clip(ties, n_ties, start_ns, end_ns);
    if (n > 0)
        qsort(ties, n, sizeof(*ties), order_by_thread);
    w.n_runs = join_runs(ties, n);
    if (w.n_runs > 0)
        qsort(ties, w.n_runs, sizeof(*ties), thread_line_order_by_start);
    /* Each run starts and ends a piece, may be cut once by each run of the span's thread, and
     * leaves a gap of two pieces before it. */
    w.pieces = sf_arena_new_n(req, 5 * (size_t)w.n_runs + 3, sizeof(*w.pieces));
    if (!w.pieces)
        return sf_fail(why, SF_ERR_LIMIT, "time breakdown: no memory for the threads of %u samples",
                       n_ties);
    w.pieces[0].start_ns = start_ns;
    if (start_ns < end_ns)
        walk_runs(&w);
    if (w.n == 0)
        w.pieces[w.n++] = (struct sf_thread_piece){start_ns, end_ns, span_thread};
    *out = (struct sf_thread_line){w.pieces, w.n};
    return SF_OK;
}

const struct sf_thread_piece *sf_thread_line_at(const struct sf_thread_line *l, uint64_t at_ns)
{
    uint32_t low = 0, high = l->n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (l->pieces[mid].start_ns <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return &l->pieces[low > 0 ? low - 1 : 0];
}
