#include "collect/lib/waits.h"

#include <errno.h>
#include <stdatomic.h>

#include "collect/lib/hook_thread.h"
#include "collect/lib/sample.h"

enum { UNIT_NS = 1000, MOST_DOUBLINGS = 16 };

static struct {
    atomic_uint generations[2]; /* of mutex and block profiles; incremented with every start */
    atomic_uint_fast64_t mean_ns;
    atomic_uint_fast64_t n_samples;
} g = {.mean_ns = SF_WAIT_MEAN_NS};

static atomic_uint *generation_of(enum sf_sample_kind kind)
{
    return &g.generations[kind == SF_SAMPLES_MUTEX ? 0 : 1];
}

static struct sf_hook_waits *waits_of(struct sf_hook_thread *t, enum sf_sample_kind kind)
{
    return kind == SF_SAMPLES_MUTEX ? &t->mutex : &t->block;
}

static void waits_draw(struct sf_hook_thread *t, struct sf_hook_waits *w, uint64_t mean_ns)
{
    w->mean_ns = mean_ns;
    w->left_ns = sf_gap_draw(&t->chance, mean_ns);
}

static uint64_t waits_round(struct sf_hook_waits *w, uint64_t ns)
{
    uint64_t all_ns = ns + w->rest_ns;
    w->rest_ns = all_ns % UNIT_NS;
    return all_ns - w->rest_ns;
}

/* `rest`: values without a time and a span; zero afterwards, if they were given. */
static bool waits_take(struct sf_hook_waits *w, enum sf_sample_kind kind, enum sf_wait wait,
                       uint64_t n, uint64_t ns, uint64_t rest[2], const void *caller)
{
    uint64_t before_ns = w->rest_ns, values[2] = {n, waits_round(w, ns)};
    if (!sf_sample_take_wait(kind, wait, values, rest, caller)) {
        w->rest_ns = before_ns;
        return false;
    }
    atomic_fetch_add_explicit(&g.n_samples, 1, memory_order_relaxed);
    return true;
}

static bool is_gap_over(struct sf_hook_thread *t, struct sf_hook_waits *w, uint64_t ns)
{
    if (ns < w->left_ns) {
        w->left_ns -= ns;
        return false;
    }
    waits_draw(t, w, w->mean_ns);
    return true;
}

/* With the usual mean: a sample carries all waits since the last one. */
static void add_carried(struct sf_hook_thread *t, enum sf_sample_kind kind, enum sf_wait wait,
                        uint64_t ns, const void *caller)
{
    struct sf_hook_waits *w = waits_of(t, kind);
    uint64_t rest[2] = {0};
    if (ns >= SF_WAIT_MEAN_NS && waits_take(w, kind, wait, 1, ns, rest, caller))
        return;
    w->n++;
    w->ns += ns;
    if (is_gap_over(t, w, ns) && waits_take(w, kind, wait, w->n, w->ns, rest, caller))
        w->n = w->ns = 0; /* if it was dropped, the next sample carries it */
}

/* With a longer one: a sample represents `many` such waits, and carries what was dropped before. */
static void add_weighted(struct sf_hook_thread *t, enum sf_sample_kind kind, enum sf_wait wait,
                         uint64_t ns, const void *caller)
{
    struct sf_hook_waits *w = waits_of(t, kind);
    bool is_long = ns >= w->mean_ns;
    double many;
    if (!ns || (!is_long && !is_gap_over(t, w, ns)))
        return;
    many = is_long ? 1 : sf_gap_stands_for(ns, w->mean_ns);
    uint64_t rest[2] = {w->n + sf_gap_whole(&t->chance, many - 1),
                        waits_round(w, w->ns + (uint64_t)((many - 1) * (double)ns))};
    bool is_given = waits_take(w, kind, wait, 1, ns, rest, caller);
    w->n = rest[0] + (is_given ? 0 : 1);
    w->ns = rest[1] + (is_given ? 0 : ns);
}

void sf_waits_add(enum sf_sample_kind kind, enum sf_wait wait, uint64_t ns, const void *caller)
{
    struct sf_hook_thread *t = &sf_hook_self;
    struct sf_hook_waits *w = waits_of(t, kind);
    uint64_t mean_ns = atomic_load_explicit(&g.mean_ns, memory_order_relaxed);
    uint32_t generation = atomic_load_explicit(generation_of(kind), memory_order_relaxed);
    int saved = errno;
    if (!sf_hook_enter())
        return;
    t->waited_ns[wait] += ns;
    if (w->generation != generation)
        *w = (struct sf_hook_waits){.generation = generation};
    if (w->mean_ns != mean_ns) /* gaps have no memory: a new one may begin before any wait */
        waits_draw(t, w, mean_ns);
    if (mean_ns > SF_WAIT_MEAN_NS)
        add_weighted(t, kind, wait, ns, caller);
    else
        add_carried(t, kind, wait, ns, caller);
    sf_hook_leave();
    errno = saved;
}

void sf_waits_count(uint64_t *n_samples, uint64_t *mean_ns)
{
    *n_samples = atomic_load_explicit(&g.n_samples, memory_order_relaxed);
    *mean_ns = atomic_load_explicit(&g.mean_ns, memory_order_relaxed);
}

void sf_waits_begin(enum sf_sample_kind kind)
{
    atomic_store(&g.mean_ns, SF_WAIT_MEAN_NS);
    atomic_fetch_add(generation_of(kind), 1);
}

void sf_waits_brake(void)
{
    uint64_t mean_ns = atomic_load(&g.mean_ns);
    if (mean_ns < (uint64_t)SF_WAIT_MEAN_NS << MOST_DOUBLINGS)
        atomic_compare_exchange_strong(&g.mean_ns, &mean_ns, 2 * mean_ns);
}

void sf_waits_pace(uint64_t mean_ns)
{
    atomic_store(&g.mean_ns, mean_ns > SF_WAIT_MEAN_NS ? mean_ns : SF_WAIT_MEAN_NS);
}
