#include "collect/lib/heap_profiler.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "collect/lib/live_objects.h"
#include "collect/lib/own_cost.h"
#include "collect/lib/sample.h"
#include "collect/lib/stack_table.h"
#include "collect/sys/clock.h"

/* Bytes after which a thread checks whether a profile was started. */
enum { LOOK_AGAIN = 64 * 1024 };
#define MOST_MEAN ((uint64_t)1 << 40)

static struct {
    unsigned n_users;                       /* used by the collecting thread: alloc and in use */
    atomic_uint generation;                 /* incremented with every start; 0: never started */
    atomic_uint_fast64_t mean;              /* for gaps drawn from now on; 0: off */
    _Atomic(struct sf_live_objects *) live; /* allocated once, never freed: objects may be freed
                                             * late */
    _Atomic(struct sf_stack_table *) stacks;
    atomic_uint_fast64_t n_samples;
    atomic_uint_fast64_t unaligned; /* sampled objects at addresses that free does not recognise */
    /* What the objects in `live` represent: bytes, and thousandths of objects. */
    atomic_int_fast64_t inuse_bytes, inuse_milli;
} h;

atomic_ushort sf_heap_classes[SF_HEAP_CLASSES];

_Static_assert(sizeof(struct sf_live_object) <= sizeof(((struct sf_heap_held *)0)->body),
               "an object fits where a hook keeps it");

/* ---- for the hooks ---- */

/* The mean may change at any time. A gap keeps the mean it was drawn with until a sample ends it:
 * that mean gives the probability with which each object in the gap, the sampled one included, was
 * a sample. */
static void heap_profiler_draw(struct sf_hook_thread *t, uint64_t mean)
{
    t->heap_mean = mean;
    sf_hook_set_left(t, sf_gap_draw(&t->chance, mean));
}

bool sf_heap_profiler_wants(struct sf_hook_thread *t, size_t len)
{
    uint64_t mean = atomic_load_explicit(&h.mean, memory_order_relaxed);
    uint32_t generation = atomic_load_explicit(&h.generation, memory_order_relaxed);
    if (mean && !sf_hook_enter())
        return false;
    t->heap_before += len;
    if (!mean) {
        sf_hook_set_left(t, LOOK_AGAIN);
        return false;
    }
    if (t->heap_generation != generation) { /* the first allocation since this profile began */
        t->heap_generation = generation;
        heap_profiler_draw(t, mean);
        memset(t->heap_missed, 0, sizeof(t->heap_missed));
        if (len < t->heap_left) {
            sf_hook_set_left(t, t->heap_left - len); /* its bytes are already counted */
            sf_hook_leave();
            return false;
        }
    }
    t->heap_hit_mean = t->heap_mean;
    heap_profiler_draw(t, mean);
    return true;
}

static void count_inuse(const struct sf_live_object *o, int sign)
{
    double many = sf_gap_stands_for(o->size, o->mean);
    atomic_fetch_add_explicit(&h.inuse_bytes, sign * (int64_t)(many * (double)o->size),
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&h.inuse_milli, sign * (int64_t)(many * 1000), memory_order_relaxed);
}

static void heap_profiler_add(const void *p, const struct sf_live_object *o)
{
    atomic_fetch_add_explicit(sf_heap_class(p), 1, memory_order_relaxed);
    if (sf_live_objects_add(atomic_load(&h.live), p, o))
        count_inuse(o, 1);
    else
        atomic_fetch_sub_explicit(sf_heap_class(p), 1, memory_order_relaxed);
}

bool sf_heap_profiler_inuse(int64_t *bytes, int64_t *objects)
{
    int64_t milli = atomic_load_explicit(&h.inuse_milli, memory_order_relaxed);
    *bytes = atomic_load_explicit(&h.inuse_bytes, memory_order_relaxed);
    *bytes = *bytes > 0 ? *bytes : 0;
    *objects = milli > 0 ? milli / 1000 : 0;
    return atomic_load_explicit(&h.mean, memory_order_relaxed);
}

void sf_heap_profiler_count(uint64_t *n_samples, uint64_t *mean)
{
    *n_samples = atomic_load_explicit(&h.n_samples, memory_order_relaxed);
    *mean = atomic_load_explicit(&h.mean, memory_order_relaxed);
}

static void heap_profiler_follow(const void *p, size_t len, uint64_t mean,
                                 const struct sf_raw_sample *s)
{
    struct sf_live_object o = {
        .size = len, .thread = s->thread, .time_ns = (int64_t)s->time_ns, .mean = mean};
    if ((uintptr_t)p & SF_HEAP_MARK) {
        atomic_fetch_add_explicit(&h.unaligned, 1, memory_order_relaxed);
        return;
    }
    memcpy(o.trace_id, s->trace_id, sizeof(o.trace_id));
    memcpy(o.span_id, s->span_id, sizeof(o.span_id));
    o.stack = sf_stack_table_add(atomic_load(&h.stacks), s->frames, s->n_frames, s->end);
    heap_profiler_add(p, &o);
}

void sf_heap_profiler_add(struct sf_hook_thread *t, const void *p, size_t len, const void *caller)
{
    bool is_on = atomic_load_explicit(&h.mean, memory_order_relaxed);
    int saved = errno;
    if (p && is_on && len) {
        struct sf_raw_sample s;
        double many = sf_gap_stands_for(len, t->heap_hit_mean);
        int64_t begin_ns = sf_clock_mono_ns();
        sf_sample_fill(&s, caller, false);
        s.frames[0]--; /* the address of the call instead of the return address */
        s.kind = SF_SAMPLES_ALLOC;
        s.wait = SF_WAIT_NONE;
        s.values[0] = sf_gap_whole(&t->chance, many);
        s.values[1] = (uint64_t)(many * (double)len);
        heap_profiler_follow(p, len, t->heap_hit_mean, &s);
        for (int i = 0; i < 2; i++)
            s.values[i] += t->heap_missed[i];
        memset(t->heap_missed, 0, sizeof(t->heap_missed));
        if (!sf_sample_give(&s)) /* dropped: the next sample carries its values, so that totals stay
                                  * correct */
            memcpy(t->heap_missed, s.values, sizeof(t->heap_missed));
        atomic_fetch_add_explicit(&h.n_samples, 1, memory_order_relaxed);
        sf_own_cost_add_heap(sf_clock_mono_ns() - begin_ns);
    }
    errno = saved;
    sf_hook_leave();
}

void sf_heap_profiler_take(const void *p, struct sf_heap_held *held)
{
    struct sf_live_objects *live = atomic_load_explicit(&h.live, memory_order_acquire);
    struct sf_live_object o;
    bool was_there = live && sf_live_objects_take(live, p, &o);
    if (was_there) {
        atomic_fetch_sub_explicit(sf_heap_class(p), 1, memory_order_relaxed);
        count_inuse(&o, -1);
    }
    if (!held)
        return;
    held->p = was_there ? p : NULL;
    if (was_there)
        memcpy(held->body, &o, sizeof(o));
}

void sf_heap_profiler_put_back(const struct sf_heap_held *held)
{
    struct sf_live_object o;
    if (!held->p)
        return;
    memcpy(&o, held->body, sizeof(o));
    heap_profiler_add(held->p, &o);
}

void sf_heap_profiler_brake(void)
{
    uint64_t mean = atomic_load(&h.mean);
    if (mean && mean < MOST_MEAN)
        atomic_compare_exchange_strong(&h.mean, &mean, 2 * mean);
}

/* ---- in the collecting thread ---- */

static const char *blind; /* set before threads exist */

void sf_heap_profiler_set_blind(const char *why)
{
    blind = why;
}

const char *sf_heap_profiler_blind(void)
{
    return blind;
}

static enum sf_err heap_profiler_begin(uint64_t mean, struct sf_why *why)
{
    if (h.n_users++)
        return SF_OK;
    if (!atomic_load(&h.live))
        atomic_store(&h.live, sf_live_objects_new());
    if (!atomic_load(&h.stacks))
        atomic_store(&h.stacks, sf_stack_table_new());
    if (!atomic_load(&h.live) || !atomic_load(&h.stacks)) {
        h.n_users--;
        return sf_fail(why, SF_ERR_NOMEM, "heap profile: no memory for its tables");
    }
    atomic_fetch_add(&h.generation, 1);
    atomic_store(&h.mean, mean ? mean : SF_HEAP_MEAN);
    return SF_OK;
}

static void heap_profiler_end(void)
{
    if (!--h.n_users)
        atomic_store(&h.mean, 0);
}

/* Gaps that were already drawn are counted to their end. */
static void heap_profiler_pace(uint64_t mean)
{
    if (h.n_users)
        atomic_store(&h.mean, mean);
}

static void on_live(const struct sf_live_object *o, void *arg)
{
    struct sf_raw_sample *s = arg;
    double many = sf_gap_stands_for(o->size, o->mean);
    /* The same random number each time: an object has the same weight in every snapshot. */
    struct sf_gap_chance chance = {(uint64_t)o->time_ns ^ (uint64_t)o->thread << 40};
    s->n_frames = sf_stack_table_get(atomic_load(&h.stacks), o->stack, s->frames, SF_SAMPLE_FRAMES,
                                     &s->end);
    s->kind = SF_SAMPLES_INUSE;
    s->thread = o->thread;
    s->time_ns = (uint64_t)o->time_ns;
    s->values[0] = sf_gap_whole(&chance, many);
    s->values[1] = (uint64_t)(many * (double)o->size);
    memcpy(s->trace_id, o->trace_id, sizeof(s->trace_id));
    memcpy(s->span_id, o->span_id, sizeof(s->span_id));
    sf_profiler_add(s);
}

static void add_live(void)
{
    struct sf_live_objects *live = atomic_load(&h.live);
    struct sf_raw_sample s = {0};
    if (live && atomic_load(&h.mean))
        sf_live_objects_each(live, on_live, &s);
    sf_profiler_count_dropped(SF_SAMPLES_INUSE, atomic_exchange(&h.unaligned, 0) +
                                                    (live ? sf_live_objects_lost(live) : 0));
}

void sf_heap_profiler_release(void)
{
    heap_profiler_pace(sf_profiler_period(SF_SAMPLES_ALLOC));
}

const struct sf_profiler_source sf_heap_alloc_source = {
    .begin = heap_profiler_begin, .end = heap_profiler_end, .pace = heap_profiler_pace};
const struct sf_profiler_source sf_heap_inuse_source = {.begin = heap_profiler_begin,
                                                        .end = heap_profiler_end,
                                                        .pace = heap_profiler_pace,
                                                        .close = add_live};

/* Hooks of the forking thread are disabled while the lock is held, because fork handlers of other
 * libraries may allocate. */
void sf_heap_profiler_before_fork(void)
{
    sf_guest_is_at_work = true;
    sf_stack_table_before_fork(atomic_load(&h.stacks));
}

void sf_heap_profiler_after_fork(bool is_child)
{
    sf_stack_table_after_fork(atomic_load(&h.stacks), is_child);
    if (is_child) {
        h.n_users = 0;
        atomic_store(&h.mean, 0);
    }
    sf_guest_is_at_work = false;
}
