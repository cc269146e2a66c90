#include "collect/lib/profiled_thread.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/heap.h"
#include "collect/sys/perf_clock.h"
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

/* Who this thread is. Not the library's own record of it, which threads that use none of its calls
 * do not have. */
static __thread struct {
    struct sf_profiled_thread *block;
    uint32_t tid;
} mine;

struct sf_profiled_thread *sf_profiled_threads_mine(struct sf_profiled_threads *all)
{
    if (mine.block && mine.block->tid == mine.tid)
        return mine.block;
    if (!mine.tid)
        mine.tid = (uint32_t)syscall(SYS_gettid);
    for (uint32_t i = 0; i < SF_PROFILED_MAX; i++) {
        struct sf_profiled_thread *t = atomic_load_explicit(&all->blocks[i], memory_order_acquire);
        if (!t)
            break;
        if (t->tid == mine.tid)
            return mine.block = t;
    }
    return NULL;
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

void sf_profiled_thread_weigh(struct sf_profiled_thread *t, uint32_t overruns, uint64_t out[2])
{
    uint64_t period_ns = atomic_load_explicit(&t->period_ns, memory_order_relaxed);
    uint64_t owed_ns = atomic_exchange_explicit(&t->owed_ns, 0, memory_order_relaxed);
    out[0] = 1 + overruns + owed_ns / period_ns;
    out[1] = atomic_load_explicit(&t->gap_ns, memory_order_relaxed) + overruns * period_ns +
             owed_ns;
    atomic_store_explicit(&t->gap_ns, period_ns, memory_order_relaxed);
}

/* ---- in the collecting thread ---- */

/* A program that works in step with its clock would show the same place again and again. So the
 * rate is drawn anew every few samples, evenly from 3/4 to 5/4 of what was asked: as many samples
 * as asked for on average, each worth the period it was taken with. Not for every sample: that
 * would take a system call in the handler. */
static uint64_t vary(struct sf_profiled_threads *all, uint64_t period_ns)
{
    uint64_t chance = sf_gap_random(&all->chance) >> 32; /* of 2^32, half a rate wide */
    return (uint64_t)((double)period_ns / (0.75 + 0.5 * (double)chance / 4294967296.0));
}

static uint64_t ns_of(struct timespec t)
{
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}

static clockid_t cpu_clock_of(uint32_t tid)
{
    return (clockid_t)(~tid << 3 | 6);
}

static uint64_t cpu_ns_of(uint32_t tid)
{
    struct timespec t;
    return clock_gettime(cpu_clock_of(tid), &t) ? 0 : ns_of(t);
}

/* Samples are lost: in rings that are full, and when a timer is changed whose signal was on its way
 * (kernels from 6.13 on take that back). The thread's own clock tells how much is missing; what may
 * still come is not: a sample in the ring, and what ran since a tick of the kernel. */
static void settle(struct sf_profiled_thread *t, uint64_t left_ns)
{
    enum { TICK_NS = 10000000 };
    uint64_t gap_ns = atomic_load_explicit(&t->gap_ns, memory_order_relaxed);
    uint64_t known_ns = t->begin_ns + t->given_ns + 2 * gap_ns - left_ns + TICK_NS +
                        atomic_load_explicit(&t->owed_ns, memory_order_relaxed);
    uint64_t cpu_ns = cpu_ns_of(t->tid);
    if (left_ns <= gap_ns && cpu_ns > known_ns + gap_ns)
        atomic_fetch_add_explicit(&t->owed_ns, cpu_ns - known_ns, memory_order_relaxed);
}

/* The gap at hand ends when it would have ended; the next ones are as long as the new period. */
static void change_period(struct sf_profiled_thread *t, uint64_t period_ns)
{
    struct itimerspec every;
    if (timer_gettime(t->timer, &every) || !ns_of(every.it_value))
        return;
    settle(t, ns_of(every.it_value));
    every.it_interval = timespec_of(period_ns);
    if (!timer_settime(t->timer, 0, &every, NULL))
        atomic_store_explicit(&t->period_ns, period_ns, memory_order_relaxed);
}

/* perf's period cannot be changed without its descriptor, so a new clock takes the place of the old
 * one. What ran since the last sample goes to the next: neither more nor less than the thread's own
 * clock says, so that a sample that comes late, and was paid for already, is made up for here. */
static void change_perf(struct sf_profiled_thread *t, int sig, uint64_t period_ns)
{
    enum { DRAW_AFTER = 32 }; /* samples: 11 us for a new clock, each 32 are 0.003 % at 100 Hz */
    uint64_t known_ns, cpu_ns;
    void *perf;
    if (t->since_ns < DRAW_AFTER * atomic_load_explicit(&t->period_ns, memory_order_relaxed))
        return;
    t->since_ns = 0;
    perf = sf_perf_clock_start(t->tid, period_ns, sig);
    if (!perf)
        return; /* the one it has will do */
    sf_perf_clock_stop(t->perf);
    t->perf = perf;
    known_ns = t->begin_ns + t->given_ns + atomic_load(&t->owed_ns);
    cpu_ns = cpu_ns_of(t->tid);
    if (cpu_ns > known_ns)
        atomic_fetch_add_explicit(&t->owed_ns, cpu_ns - known_ns, memory_order_relaxed);
    atomic_store_explicit(&t->period_ns, period_ns, memory_order_relaxed);
    atomic_store_explicit(&t->gap_ns, period_ns, memory_order_relaxed);
}

static void find_stack(struct sf_profiled_thread *t)
{
    uintptr_t sp = atomic_load_explicit(&t->seen_sp, memory_order_acquire);
    uintptr_t tcb = atomic_load_explicit(&t->seen_tcb, memory_order_relaxed), lo, hi;
    if (!sp || atomic_load(&t->stack_hi) || !sf_stack_find(sp, tcb, &lo, &hi))
        return;
    atomic_store_explicit(&t->stack_lo, lo, memory_order_relaxed);
    atomic_store_explicit(&t->stack_hi, hi, memory_order_release);
}

static bool arm_timer(struct sf_profiled_threads *all, struct sf_profiled_thread *t, uint32_t index,
                      int sig, uint64_t period_ns)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig};
    struct itimerspec every = {.it_interval = timespec_of(period_ns)};

    every.it_value = every.it_interval;
    event.sigev_value.sival_ptr = (void *)(t->serial << 16 | (index + 1));
    event.sigev_notify_thread_id = (int)t->tid;
    if (timer_create(cpu_clock_of(t->tid), &event, &t->timer)) {
        all->is_refused = errno == EAGAIN; /* each takes a slot of a limit: leave the rest */
        return false;
    }
    timer_settime(t->timer, 0, &every, NULL);
    return true;
}

static void arm(struct sf_profiled_threads *all, uint32_t index, uint32_t tid,
                struct sf_profiled_signals sigs, uint64_t period_ns)
{
    struct sf_profiled_thread *t = atomic_load_explicit(&all->blocks[index], memory_order_relaxed);
    t->tid = tid;
    t->serial = (t->serial + 1) & 0xffffffff;
    t->is_seen = true;
    t->begin_ns = cpu_ns_of(tid);
    t->given_ns = 0;
    t->since_ns = 0;
    atomic_store(&t->owed_ns, 0);
    atomic_store(&t->gap_ns, period_ns);
    atomic_store(&t->period_ns, period_ns);
    atomic_store(&t->stack_lo, 0);
    atomic_store(&t->stack_hi, 0);
    atomic_store(&t->seen_sp, 0);
    /* Programs may have left their threads open for SIGPROF and for nothing else. */
    t->perf = all->has_perf && sf_tasks_takes_signal(tid, sigs.perf)
                  ? sf_perf_clock_start(tid, period_ns, sigs.perf)
                  : NULL;
    if (t->perf || arm_timer(all, t, index, sigs.timer, period_ns))
        all->n_armed++;
    else
        t->tid = 0;
}

static void let_go(struct sf_profiled_threads *all, struct sf_profiled_thread *t)
{
    if (t->perf)
        sf_perf_clock_stop(t->perf);
    else
        timer_delete(t->timer);
    t->perf = NULL;
    t->tid = 0;
    all->n_armed--;
    all->is_refused = false;
}

struct update {
    struct sf_profiled_threads *all;
    struct sf_profiled_signals sigs;
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
        arm(all, free_at, tid, u->sigs, vary(all, u->period_ns));
}

void sf_profiled_threads_update(struct sf_profiled_threads *all, struct sf_profiled_signals sigs,
                                uint64_t period_ns, sf_profiled_drain drain, void *arg)
{
    struct update u = {all, sigs, period_ns};
    bool is_whole;
    for (uint32_t i = 0; i < all->n; i++)
        atomic_load(&all->blocks[i])->is_seen = false;
    is_whole = sf_tasks_each(on_task, &u);
    for (uint32_t i = 0; i < all->n; i++) {
        struct sf_profiled_thread *t = atomic_load(&all->blocks[i]);
        uint64_t drained_ns;
        if (!t->tid)
            continue;
        drained_ns = drain(t, arg);
        t->given_ns += drained_ns;
        t->since_ns += drained_ns;
        if (is_whole && !t->is_seen) {
            let_go(all, t);
            continue;
        }
        find_stack(t);
        if (drained_ns && t->perf)
            change_perf(t, sigs.perf, vary(all, period_ns));
        else if (drained_ns)
            change_period(t, vary(all, period_ns));
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
        t->perf = NULL; /* the mapping was not inherited */
        atomic_store(&t->ring.tail, atomic_load(&t->ring.head));
    }
    all->n_armed = 0;
    mine.block = NULL;
    mine.tid = 0;
}
