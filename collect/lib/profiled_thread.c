#include "collect/lib/profiled_thread.h"

#include <errno.h>
#include <signal.h>

#include "base/heap.h"
#include "collect/sys/tasks.h"
#include "collect/sys/thread.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* ---- in handlers ---- */

struct sf_profiled_thread *sf_profiled_threads_find(struct sf_profiled_threads *all,
                                                    const void *value)
{
    /* serial << 16 | index + 1: a stranger's value does no harm, and a signal that was on its way
     * when the block changed hands is known by its serial. */
    uintptr_t v = (uintptr_t)value, index = (v & 0xffff) - 1;
    struct sf_profiled_thread *t;
    if (index >= SF_PROFILED_MAX)
        return NULL;
    t = atomic_load_explicit(&all->blocks[index], memory_order_acquire);
    return t && t->serial == v >> 16 ? t : NULL;
}

static uintptr_t thread_pointer(void)
{
    return (uintptr_t)__builtin_thread_pointer();
}

struct sf_walk_stack sf_profiled_thread_view(struct sf_profiled_thread *t, uintptr_t sp,
                                             struct sf_stack_copy **copy)
{
    uintptr_t lo = atomic_load_explicit(&t->stack_lo, memory_order_relaxed);
    uintptr_t hi = atomic_load_explicit(&t->stack_hi, memory_order_relaxed);

    if (sp >= lo && sp < hi)
        return (struct sf_walk_stack){(const uint8_t *)sp, sp, hi};
    if (!hi) {
        atomic_store_explicit(&t->seen_tcb, thread_pointer(), memory_order_relaxed);
        atomic_store_explicit(&t->seen_sp, sp, memory_order_release);
    }
    return sf_stack_copy_take(sp, copy);
}

/* ---- in the collecting thread ---- */

static void find_stack(struct sf_profiled_thread *t)
{
    uintptr_t sp = atomic_load_explicit(&t->seen_sp, memory_order_acquire);
    uintptr_t tcb = atomic_load_explicit(&t->seen_tcb, memory_order_relaxed), lo, hi;
    if (!sp || atomic_load(&t->stack_hi) || !sf_stack_find(sp, tcb, &lo, &hi))
        return;
    atomic_store_explicit(&t->stack_lo, lo, memory_order_relaxed);
    atomic_store_explicit(&t->stack_hi, hi, memory_order_release);
}

static bool arm(struct sf_profiled_threads *all, struct sf_profiled_thread *t, uint32_t index,
                uint32_t tid, int sig, uint64_t period_ns)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig};
    struct itimerspec every = {
        .it_interval = {(time_t)(period_ns / 1000000000), (long)(period_ns % 1000000000)}};
    clockid_t clock = (clockid_t)(~tid << 3 | 6); /* that thread's CPU time */

    every.it_value = every.it_interval;
    t->serial = (t->serial + 1) & 0xffffffff;
    event.sigev_value.sival_ptr = (void *)(t->serial << 16 | (index + 1));
    event.sigev_notify_thread_id = (int)tid;
    if (timer_create(clock, &event, &t->timer)) {
        all->is_refused = errno == EAGAIN; /* each takes a slot of a limit: leave the rest */
        return false;
    }
    t->tid = tid;
    t->is_seen = true;
    atomic_store(&t->stack_lo, 0);
    atomic_store(&t->stack_hi, 0);
    atomic_store(&t->seen_sp, 0);
    all->n_armed++;
    timer_settime(t->timer, 0, &every, NULL);
    return true;
}

static void let_go(struct sf_profiled_threads *all, struct sf_profiled_thread *t)
{
    timer_delete(t->timer);
    t->tid = 0;
    all->n_armed--;
    all->is_refused = false;
}

struct update {
    struct sf_profiled_threads *all;
    int sig;
    uint64_t period_ns;
};

static void on_task(uint32_t tid, void *arg)
{
    struct update *u = arg;
    struct sf_profiled_threads *all = u->all;
    struct sf_profiled_thread *free_one = NULL, *t;
    uint32_t free_at = 0;

    if (sf_guest_thread_is(tid))
        return;
    for (uint32_t i = 0; i < all->n; i++) {
        t = atomic_load_explicit(&all->blocks[i], memory_order_relaxed);
        if (t->tid == tid) {
            t->is_seen = true;
            return;
        }
        if (!t->tid && !free_one) {
            free_one = t;
            free_at = i;
        }
    }
    if (all->is_refused)
        return;
    if (!free_one && all->n < SF_PROFILED_MAX) {
        free_one = sf_heap_new(sizeof(*free_one));
        free_at = all->n;
        if (free_one) {
            atomic_store_explicit(&all->blocks[free_at], free_one, memory_order_release);
            all->n++;
        }
    }
    if (free_one)
        arm(all, free_one, free_at, tid, u->sig, u->period_ns);
}

void sf_profiled_threads_update(struct sf_profiled_threads *all, int sig, uint64_t period_ns,
                                sf_profiled_drain drain, void *arg)
{
    struct update u = {all, sig, period_ns};
    bool is_whole;
    for (uint32_t i = 0; i < all->n; i++)
        atomic_load(&all->blocks[i])->is_seen = false;
    is_whole = sf_tasks_each(on_task, &u);
    for (uint32_t i = 0; i < all->n; i++) {
        struct sf_profiled_thread *t = atomic_load(&all->blocks[i]);
        if (!t->tid)
            continue;
        drain(t, arg);
        if (is_whole && !t->is_seen)
            let_go(all, t);
        else
            find_stack(t);
    }
}

void sf_profiled_threads_stop(struct sf_profiled_threads *all, sf_profiled_drain drain, void *arg)
{
    for (uint32_t i = 0; i < all->n; i++) {
        struct sf_profiled_thread *t = atomic_load(&all->blocks[i]);
        if (!t->tid)
            continue;
        drain(t, arg);
        let_go(all, t);
    }
}

uint32_t sf_profiled_threads_n(const struct sf_profiled_threads *all)
{
    return all->n_armed;
}

void sf_profiled_threads_forget(struct sf_profiled_threads *all)
{
    for (uint32_t i = 0; i < all->n; i++) {
        struct sf_profiled_thread *t = atomic_load(&all->blocks[i]);
        t->tid = 0;
        atomic_store(&t->ring.tail, atomic_load(&t->ring.head));
    }
    all->n_armed = 0;
}
