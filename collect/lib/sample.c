#include "collect/lib/sample.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/lib/own_cost.h"
#include "collect/lib/profiler.h"
#include "collect/lib/span_pool.h"
#include "collect/lib/stack_copy.h"
#include "collect/lib/thread.h"
#include "collect/sys/clock.h"
#include "collect/sys/lock.h"
#include "spanflame.h"

uint16_t sf_sample_max_frames = 64; /* see profiling.max_stack_depth */

enum { RINGS = 32 };

static struct shared_ring {
    struct sf_lock lock; /* guards the writing end and the scratch memory; never waited for */
    struct sf_raw_sample scratch;
    struct sf_sample_ring ring;
} rings[RINGS];
static atomic_uint_fast64_t n_dropped;

void sf_sample_note_span(struct sf_raw_sample *s)
{
    sf_sample_note_span_of(s, &sf_thread_self);
}

/* A span that another thread has ended is replaced by the one below it, as in the thread's next
 * call. */
void sf_sample_note_span_of(struct sf_raw_sample *s, const struct sf_thread_state *t)
{
    const uint8_t *record = t->record;
    const struct sf_span_slot *active;
    memset(s->trace_id, 0, sizeof(s->trace_id));
    memset(s->span_id, 0, sizeof(s->span_id));
    if (record[SF_RECORD_VALID] != 1)
        return;
    active = t->current ? sf_span_pool_find(t->current) : NULL;
    if (t->current && !active) {
        const struct sf_span_slot *slot = sf_span_pool_find_under(t->current);
        if (!slot)
            slot = sf_span_pool_find_under(t->under);
        if (!slot)
            return;
        record = slot->record;
        active = slot;
    }
    if (active && active->profile == SF_SPAN_PROFILE_NEVER)
        return;
    memcpy(s->trace_id, record, 16);
    memcpy(s->span_id, record + 16, 8);
}

/* Removes the library's frames: the stack begins at the program's call. */
static void cut_own(struct sf_raw_sample *s, uintptr_t caller, bool is_hook_kept)
{
    uint16_t at = 0;
    while (at < s->n_frames && s->frames[at] != caller)
        at++;
    if (at == s->n_frames) { /* the walk did not reach the caller: use the caller alone */
        s->frames[0] = caller;
        s->n_frames = 1;
        return;
    }
    if (is_hook_kept && at)
        at--;
    s->n_frames = (uint16_t)(s->n_frames - at);
    memmove(s->frames, s->frames + at, s->n_frames * sizeof(s->frames[0]));
}

/* A thread that is sampled often reads its own stack in place; the first few times, and on other
 * stacks than its own, a copy is used. */
static struct sf_walk_stack sample_view_of(uintptr_t sp, struct sf_stack_copy **copy)
{
    enum { LOOK_AFTER = 4 };
    static __thread struct {
        uintptr_t lo, hi;
        unsigned n_copied;
    } own;
    if (sp >= own.lo && sp < own.hi)
        return (struct sf_walk_stack){(const uint8_t *)sp, sp, own.hi};
    if (++own.n_copied == LOOK_AFTER)
        sf_stack_copy_find(sp, (uintptr_t)__builtin_thread_pointer(), &own.lo, &own.hi);
    return sf_stack_copy_take(sp, copy);
}

__attribute__((noinline)) void sf_sample_fill(struct sf_raw_sample *s, const void *caller,
                                              bool is_hook_kept)
{
    struct sf_walk_regs regs = sf_walk_regs_here();
    const struct sf_modules *m = sf_modules_enter();
    enum sf_walk_end end = SF_WALK_UNKNOWN;
    struct sf_stack_copy *copy = NULL;
    struct sf_walk_stack view = sample_view_of(regs.sp, &copy);

    s->n_frames = 0;
    if (m)
        s->n_frames = (uint16_t)sf_walk(m, regs, view, s->frames, sf_sample_max_frames, &end);
    sf_stack_copy_give(copy);
    sf_modules_leave();
    cut_own(s, (uintptr_t)caller, is_hook_kept);
    s->end = (uint8_t)end;
    s->time_ns = (uint64_t)sf_clock_mono_ns();
    s->thread = (uint32_t)syscall(SYS_gettid);
    sf_sample_note_span(s);
}

/* *is_late: many rings are nearly full and should be emptied before the next turn. */
static struct shared_ring *take_ring(bool *is_late)
{
    /* Threads start at different rings, chosen by the address of their record. */
    uintptr_t first = (uintptr_t)&sf_thread_self >> 12;
    for (unsigned i = 0; i < 2 * RINGS; i++) { /* filling ones only if no other is free */
        struct shared_ring *r = &rings[(first + i) % RINGS];
        if ((i >= RINGS || !sf_sample_ring_is_filling(&r->ring)) && sf_lock_try(&r->lock)) {
            *is_late = i >= RINGS / 4;
            return r;
        }
    }
    atomic_fetch_add_explicit(&n_dropped, 1, memory_order_relaxed);
    return NULL;
}

static bool sample_put(struct shared_ring *r, const struct sf_raw_sample *s, bool is_late)
{
    bool ok = sf_sample_ring_put(&r->ring, s);
    sf_lock_give(&r->lock);
    if (is_late)
        sf_profiler_wake();
    return ok;
}

bool sf_sample_give(const struct sf_raw_sample *s)
{
    bool is_late;
    struct shared_ring *r = take_ring(&is_late);
    return r && sample_put(r, s, is_late);
}

static void set_values(struct sf_raw_sample *s, const uint64_t values[2])
{
    s->values[0] = values[0];
    s->values[1] = values[1];
}

static bool sample_put_rest(struct shared_ring *r, uint64_t rest[2])
{
    struct sf_raw_sample *s = &r->scratch;
    memset(s->trace_id, 0, sizeof(s->trace_id));
    memset(s->span_id, 0, sizeof(s->span_id));
    s->time_ns = 0;
    set_values(s, rest);
    if (!sf_sample_ring_put(&r->ring, s))
        return false;
    rest[0] = rest[1] = 0;
    return true;
}

bool sf_sample_take_wait(enum sf_sample_kind kind, enum sf_wait wait, const uint64_t values[2],
                         uint64_t rest[2], const void *caller)
{
    bool is_late;
    struct shared_ring *r = take_ring(&is_late);
    struct sf_raw_sample *s;
    int64_t begin_ns;
    bool ok;
    if (!r)
        return false;
    s = &r->scratch;
    begin_ns = sf_clock_mono_ns();
    sf_sample_fill(s, caller, true);
    s->kind = (uint8_t)kind;
    s->wait = (uint8_t)wait;
    set_values(s, values);
    ok = sf_sample_ring_put(&r->ring, s);
    if (ok && (rest[0] || rest[1]))
        sample_put_rest(r, rest);
    sf_lock_give(&r->lock);
    if (is_late)
        sf_profiler_wake();
    sf_own_cost_add_wait(sf_clock_mono_ns() - begin_ns);
    return ok;
}

bool sf_sample_next(struct sf_raw_sample *out)
{
    for (unsigned i = 0; i < RINGS; i++) {
        if (sf_sample_ring_get(&rings[i].ring, out))
            return true;
    }
    return false;
}

uint64_t sf_sample_dropped(void)
{
    uint64_t n = atomic_exchange(&n_dropped, 0);
    for (unsigned i = 0; i < RINGS; i++)
        n += atomic_exchange(&rings[i].ring.dropped, 0);
    return n;
}

void sf_sample_after_fork(void)
{
    for (unsigned i = 0; i < RINGS; i++) {
        sf_lock_reset(&rings[i].lock);
        atomic_store(&rings[i].ring.tail, atomic_load(&rings[i].ring.head));
    }
}
