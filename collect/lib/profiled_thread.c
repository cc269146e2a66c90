/* profiled_thread.c - blocks of sampled threads. A block is claimed by an atomic exchange and found
 * in a signal handler without locks. Each has a clock (perf event or timer), a ring of samples, and
 * a balance of CPU time that keeps the sum of the samples' weights equal to the time the thread
 * ran. */
#include "collect/lib/profiled_thread.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/time_unit.h"
#include "collect/lib/own_cost.h"
#include "collect/sys/clock.h"
#include "collect/sys/guest_thread.h"
#include "collect/sys/tasks.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* ---- in handlers ---- */

struct sf_profiled_thread *sf_profiled_threads_find(struct sf_profiled_threads *all,
                                                    const void *value)
{
    /* serial << 16 | index + 1: a value that is not ours is ignored, and the serial identifies a
     * signal that was pending when the block changed its owner. */
    uintptr_t v = (uintptr_t)value, index = (v & 0xffff) - 1;
    struct sf_profiled_thread *t;
    if (index >= SF_PROFILED_MAX)
        return NULL;
    t = atomic_load_explicit(&all->blocks[index], memory_order_acquire);
    return t && t->serial == v >> 16 ? t : NULL;
}

/* The identity of this thread. Not the library's own record, which only threads that call the
 * library have. */
static __thread struct {
    struct sf_profiled_thread *block;
    uint32_t tid;
} mine;

struct sf_profiled_thread *sf_profiled_threads_mine(struct sf_profiled_threads *all)
{
    if (mine.block && mine.block->tid == mine.tid && !mine.block->is_ended)
        return mine.block;
    if (!mine.tid)
        mine.tid = (uint32_t)syscall(SYS_gettid);
    for (uint32_t i = 0; i < SF_PROFILED_MAX; i++) {
        struct sf_profiled_thread *t = atomic_load_explicit(&all->blocks[i], memory_order_acquire);
        if (!t)
            break;
        if (t->tid == mine.tid && !t->is_ended)
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

/* The missing time, or at most half a gap of the excess, so that a sample always has a positive
 * weight. */
static int64_t take_owed(struct sf_profiled_thread *t, uint64_t gap_ns)
{
    int64_t owed_ns = atomic_load_explicit(&t->owed_ns, memory_order_relaxed);
    int64_t least_ns = -(int64_t)(gap_ns / 2);
    owed_ns = owed_ns < least_ns ? least_ns : owed_ns;
    atomic_fetch_sub_explicit(&t->owed_ns, owed_ns, memory_order_relaxed);
    return owed_ns;
}

void sf_profiled_thread_weigh(struct sf_profiled_thread *t, uint32_t overruns, uint64_t out[2])
{
    uint64_t period_ns = atomic_load_explicit(&t->period_ns, memory_order_relaxed);
    uint64_t gap_ns = atomic_load_explicit(&t->gap_ns, memory_order_relaxed);
    int64_t owed_ns = take_owed(t, gap_ns);
    out[0] = 1 + overruns + (owed_ns > 0 ? ((uint64_t)owed_ns + period_ns / 2) / period_ns : 0);
    out[1] = gap_ns + overruns * period_ns + (uint64_t)owed_ns;
    atomic_store_explicit(&t->gap_ns, period_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&t->taken_ns, out[1], memory_order_relaxed);
}

/* ---- clocks ---- */

/* The period of a timer, drawn again on every turn, uniformly from 3/4 to 5/4 of the requested
 * rate: on average the requested number of samples, each weighted with its period. Not for every
 * sample: that would need a system call in the handler. */
static uint64_t vary(struct sf_gap_chance *c, uint64_t period_ns)
{
    uint64_t chance = sf_gap_random(c) >> 32; /* as a fraction of 2^32; the interval is half a rate
                                               * wide */
    return (uint64_t)((double)period_ns / (0.75 + 0.5 * (double)chance / 4294967296.0));
}

static uint64_t profiled_thread_ns_of(struct timespec t)
{
    return (uint64_t)t.tv_sec * SF_NS_PER_S + (uint64_t)t.tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / SF_NS_PER_S), (long)(ns % SF_NS_PER_S)};
}

static clockid_t cpu_clock_of(uint32_t tid)
{
    return (clockid_t)(~tid << 3 | 6);
}

static uint64_t profiled_thread_cpu_ns_of(uint32_t tid)
{
    struct timespec t;
    return clock_gettime(cpu_clock_of(tid), &t) ? 0 : profiled_thread_ns_of(t);
}

/* Samples are lost when a ring is full, and when a timer is changed while its signal is pending
 * (kernels from 6.13 on remove it). The thread's CPU clock tells how much is missing, except for
 * what may still come: a sample in the ring, and the time since the last tick of the kernel. */
static void profiled_thread_settle(struct sf_profiled_thread *t, uint64_t left_ns)
{
    enum { TICK_NS = 10000000 };
    uint64_t gap_ns = atomic_load_explicit(&t->gap_ns, memory_order_relaxed);
    uint64_t known_ns = t->begin_ns + t->given_ns + 2 * gap_ns - left_ns + TICK_NS +
                        (uint64_t)atomic_load_explicit(&t->owed_ns, memory_order_relaxed);
    uint64_t cpu_ns = profiled_thread_cpu_ns_of(t->tid);
    if (left_ns <= gap_ns && cpu_ns > known_ns + gap_ns)
        atomic_fetch_add_explicit(&t->owed_ns, (int64_t)(cpu_ns - known_ns), memory_order_relaxed);
}

/* The current gap ends when it would have ended; the next ones have the new period. */
static void change_period(struct sf_profiled_thread *t, uint64_t period_ns)
{
    struct itimerspec every;
    if (timer_gettime(t->timer, &every) || !profiled_thread_ns_of(every.it_value))
        return;
    profiled_thread_settle(t, profiled_thread_ns_of(every.it_value));
    every.it_interval = timespec_of(period_ns);
    if (!timer_settime(t->timer, 0, &every, NULL))
        atomic_store_explicit(&t->period_ns, period_ns, memory_order_relaxed);
}

/* A much higher rate does not wait for the end of a gap that was drawn for a low one: a thread that
 * sleeps most of the time may need minutes to reach it. The next sample represents the part of the
 * gap that has passed, too. If the timer expired meanwhile, a new gap has begun. */
static void shorten_gap(struct sf_profiled_thread *t, uint64_t period_ns)
{
    uint64_t taken_ns = atomic_load(&t->taken_ns), gap_ns = atomic_load(&t->gap_ns), left_ns;
    struct itimerspec every;
    if (timer_gettime(t->timer, &every))
        return;
    left_ns = profiled_thread_ns_of(every.it_value);
    if (!left_ns)
        return;
    if (left_ns > period_ns && left_ns <= gap_ns) {
        atomic_store(&t->gap_ns, gap_ns - left_ns + period_ns);
        every.it_value = timespec_of(period_ns);
    }
    every.it_interval = timespec_of(period_ns);
    timer_settime(t->timer, 0, &every, NULL);
    atomic_store(&t->period_ns, period_ns);
    if (atomic_load(&t->taken_ns) != taken_ns)
        atomic_store(&t->gap_ns, period_ns);
}

/* Adds the time since the last sample to the next one, so that the sum equals the thread's CPU
 * clock. A pending sample is counted too early here, which the next call corrects. */
static void settle_perf(struct sf_profiled_thread *t, uint64_t each_ns)
{
    uint64_t known_ns = atomic_load(&t->begin_ns) + t->given_ns +
                        (uint64_t)atomic_load(&t->owed_ns);
    uint64_t cpu_ns = profiled_thread_cpu_ns_of(t->tid);
    if (cpu_ns) /* 0: it has ended */
        atomic_fetch_add_explicit(&t->owed_ns, (int64_t)(cpu_ns - known_ns), memory_order_relaxed);
    t->since_ns = 0;
    atomic_store_explicit(&t->period_ns, each_ns, memory_order_relaxed);
    atomic_store_explicit(&t->gap_ns, each_ns, memory_order_relaxed);
}

/* Counts time slices since the clocks were drawn. False: unknown. */
static bool count_slices(struct sf_profiled_thread *t, uint64_t *n)
{
    uint64_t before = t->n_slices;
    t->n_slices = sf_tasks_slices(t->tid);
    *n = t->n_slices > before ? t->n_slices - before : 0;
    return before;
}

/* Samples between two draws: half of one is lost each time; 0.003 % at 100 Hz. */
enum { DRAW_AFTER = 32 };

/* Whether perf's clock costs more than 1 / `parts` of the CPU time for so many switches. */
static bool is_switching(uint64_t n_slices, uint64_t cpu_ns, uint64_t parts)
{
    enum { SWITCH_NS = 1000 };
    return n_slices * SWITCH_NS * parts > cpu_ns;
}

static void change_perf(struct sf_profiled_threads *all, struct sf_profiled_thread *t, int sig,
                        uint64_t period_ns)
{
    enum { PAIRS = 32 }; /* an unprivileged user may lock 129 pages, one each */
    enum { SHORT_NS = 100000000, SWITCH_PARTS = 400, PAIR_PARTS = 1000 };
    struct sf_clock_aim aim = {t->tid, sig, period_ns};
    uint64_t n_slices;
    bool is_two = false;
    if (t->is_drawn && t->since_ns < DRAW_AFTER * period_ns && t->aim_ns == period_ns)
        return;
    t->is_drawn = true;
    t->aim_ns = period_ns;
    if (count_slices(t, &n_slices)) {
        sf_own_cost_add_switches(n_slices, sf_clock_pair_n(&t->perf));
        t->is_ticked = t->since_ns >= SHORT_NS && is_switching(n_slices, t->since_ns, SWITCH_PARTS);
        /* Then a second clock costs 0.05 % at most. */
        is_two = !is_switching(n_slices, t->since_ns, PAIR_PARTS) &&
                 sf_profiled_threads_n(all) <= PAIRS;
    }
    if (!t->is_ticked)
        settle_perf(t, sf_clock_pair_vary(&t->perf, &aim, is_two, &all->chance));
}

static void find_stack(struct sf_profiled_thread *t)
{
    uintptr_t sp = atomic_load_explicit(&t->seen_sp, memory_order_acquire);
    uintptr_t tcb = atomic_load_explicit(&t->seen_tcb, memory_order_relaxed), lo, hi;
    if (!sp || atomic_load(&t->stack_hi) || !sf_stack_copy_find(sp, tcb, &lo, &hi))
        return;
    atomic_store_explicit(&t->stack_lo, lo, memory_order_relaxed);
    atomic_store_explicit(&t->stack_hi, hi, memory_order_release);
}

static bool arm_timer(struct sf_profiled_threads *all, struct sf_profiled_thread *t, int sig,
                      uint64_t first_ns, uint64_t period_ns)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig};
    struct itimerspec every = {timespec_of(period_ns), timespec_of(first_ns)};

    event.sigev_value.sival_ptr = (void *)(t->serial << 16 | (t->index + 1));
    event.sigev_notify_thread_id = (int)t->tid;
    if (timer_create(cpu_clock_of(t->tid), &event, &t->timer)) {
        all->is_refused = errno == EAGAIN; /* the limit of the user is reached: leave the rest to
                                            * other programs */
        return false;
    }
    timer_settime(t->timer, 0, &every, NULL);
    return true;
}

static void profiled_thread_prepare(struct sf_profiled_thread *t, uint64_t period_ns)
{
    t->serial = (t->serial + 1) & 0xffffffff;
    t->is_seen = true;
    t->is_fresh = false;
    sf_clock_pair_forget(&t->perf);
    t->given_ns = 0;
    t->has_run = false;
    t->since_ns = 0;
    t->is_drawn = false;
    t->is_ticked = false;
    atomic_store(&t->begin_ns, profiled_thread_cpu_ns_of(t->tid));
    atomic_store(&t->taken_ns, 0);
    atomic_store(&t->owed_ns, 0);
    atomic_store(&t->gap_ns, period_ns);
    atomic_store(&t->period_ns, period_ns);
    atomic_store(&t->stack_lo, 0);
    atomic_store(&t->stack_hi, 0);
    atomic_store(&t->seen_sp, 0);
}

/* The thread that dequeues the entry owns its memory until release. */
static void profiled_thread_let_go(struct sf_profiled_threads *all, struct sf_profiled_thread *t)
{
    if (sf_clock_pair_is_on(&t->perf))
        sf_clock_pair_stop(&t->perf);
    else
        timer_delete(t->timer);
    atomic_store(&t->tid, 0);
    atomic_store(&t->is_ended, false);
    atomic_fetch_sub(&all->n_armed, 1);
    all->is_refused = false;
}

/* ---- ownership of blocks ---- */

static bool hold(struct sf_profiled_thread *t)
{
    return !atomic_exchange_explicit(&t->is_held, true, memory_order_acquire);
}

static void profiled_thread_give(struct sf_profiled_thread *t)
{
    atomic_store_explicit(&t->is_held, false, memory_order_release);
}

/* Called under the lock: a free block, held and with that owner. `is_known`: the thread has one
 * already. */
static struct sf_profiled_thread *take_free(struct sf_profiled_threads *all, uint32_t tid,
                                            bool *is_known)
{
    struct sf_profiled_thread *t, *found = NULL;
    uint32_t n = atomic_load(&all->n);
    *is_known = false;
    for (uint32_t i = 0; i < n; i++) {
        t = atomic_load_explicit(&all->blocks[i], memory_order_relaxed);
        if (t->tid == tid && !t->is_ended) {
            t->is_seen = true;
            *is_known = true;
            break;
        }
        if (!found && !t->tid && hold(t))
            found = t;
    }
    if (found && *is_known)
        profiled_thread_give(found);
    if (!found || *is_known)
        return NULL;
    atomic_store(&found->tid, tid);
    return found;
}

/* Called under the lock; `fresh` has an owner and is held. False: there are too many, or the owner
 * got another one meanwhile. */
static bool profiled_thread_add_block(struct sf_profiled_threads *all,
                                      struct sf_profiled_thread *fresh)
{
    uint32_t n = atomic_load(&all->n);
    for (uint32_t i = 0; i < n; i++) {
        if (all->blocks[i]->tid == fresh->tid && !all->blocks[i]->is_ended)
            return false;
    }
    if (n >= SF_PROFILED_MAX)
        return false;
    fresh->index = n;
    atomic_store_explicit(&all->blocks[n], fresh, memory_order_release);
    atomic_store(&all->n, n + 1);
    return true;
}

static bool profiled_thread_enter(struct sf_profiled_threads *all, bool is_patient)
{
    if (is_patient)
        sf_lock_take(&all->lock);
    return is_patient || sf_lock_try(&all->lock);
}

/* A held block for `tid`. NULL: it has one, there are too many, or `is_patient` is false and the
 * list is locked: then the next scan finds the thread. */
static struct sf_profiled_thread *profiled_thread_claim(struct sf_profiled_threads *all,
                                                        uint32_t tid, bool is_patient)
{
    struct sf_profiled_thread *t, *fresh;
    bool is_known, is_added;
    if (!profiled_thread_enter(all, is_patient))
        return NULL;
    t = take_free(all, tid, &is_known);
    sf_lock_give(&all->lock);
    if (t || is_known || atomic_load(&all->n) >= SF_PROFILED_MAX)
        return t;
    fresh = sf_heap_new(sizeof(*fresh));
    if (!fresh)
        return NULL;
    atomic_store(&fresh->tid, tid);
    atomic_store(&fresh->is_held, true);
    is_added = profiled_thread_enter(all, is_patient);
    if (is_added) {
        is_added = profiled_thread_add_block(all, fresh);
        sf_lock_give(&all->lock);
    }
    if (!is_added)
        sf_heap_free(fresh);
    return is_added ? fresh : NULL;
}

/* ---- in the thread itself ---- */

void sf_profiled_threads_join(struct sf_profiled_threads *all, uintptr_t start)
{
    uint64_t time = atomic_load(&all->joinable), period_ns;
    struct sf_gap_chance chance = {0};
    struct sf_profiled_thread *t;
    uint32_t tid;
    if (!time || all->is_refused)
        return;
    tid = (uint32_t)syscall(SYS_gettid);
    t = profiled_thread_claim(all, tid, false);
    if (!t)
        return;
    period_ns = vary(&chance, atomic_load(&all->join_period_ns));
    profiled_thread_prepare(t, period_ns);
    t->is_fresh = true;
    t->start = start;
    t->first_ns = 1 + (uint64_t)((double)period_ns * sf_gap_uniform(&chance));
    if (arm_timer(all, t, atomic_load(&all->join_signal), t->first_ns, period_ns)) {
        atomic_fetch_add(&all->n_armed, 1);
        mine.tid = tid;
        mine.block = t;
        if (atomic_load(&all->joinable) !=
            time) /* the recording ended meanwhile without seeing this block */
            profiled_thread_let_go(all, t);
    } else {
        atomic_store(&t->tid, 0);
    }
    profiled_thread_give(t);
}

/* CPU time that samples should have covered by now. A timer that expired since the last tick of the
 * kernel was not noticed yet. */
static uint64_t missing_ns(const struct sf_profiled_thread *t)
{
    uint64_t cpu_ns = profiled_thread_cpu_ns_of(t->tid), begin_ns = atomic_load(&t->begin_ns);
    uint64_t period_ns = atomic_load(&t->period_ns), taken_ns = atomic_load(&t->taken_ns), due_ns;
    if (cpu_ns <= begin_ns)
        return 0;
    due_ns = cpu_ns - begin_ns;
    if (t->is_fresh)
        due_ns = due_ns < t->first_ns ? 0 : ((due_ns - t->first_ns) / period_ns + 1) * period_ns;
    return due_ns > taken_ns ? due_ns - taken_ns : 0;
}

/* Adds the missing time with the stack of the last sample; without one, with the thread's start
 * function. */
static void hand_in(struct sf_profiled_thread *t, uint64_t ns)
{
    struct sf_raw_sample *s = &t->scratch;
    uint64_t period_ns = atomic_load(&t->period_ns);
    if (!atomic_load(&t->taken_ns)) {
        *s = (struct sf_raw_sample){.n_frames = 1, .kind = SF_SAMPLES_CPU, .thread = t->tid};
        s->frames[0] = t->start + 1; /* + 1: inside the function, not the end of the one before
                                      * it */
    }
    s->time_ns = (uint64_t)sf_clock_mono_ns();
    s->values[0] = (ns + period_ns / 2) / period_ns;
    s->values[0] += !s->values[0];
    s->values[1] = ns;
    sf_sample_ring_put(&t->ring, s);
}

void sf_profiled_threads_leave(struct sf_profiled_threads *all)
{
    struct sf_profiled_thread *t = sf_profiled_threads_mine(all);
    uint64_t ns;
    if (!t)
        return;
    atomic_store(&t->is_ended, true);
    mine.block = NULL;
    ns = missing_ns(t);
    if (ns && t->start)
        hand_in(t, ns);
    if (!hold(t))
        return; /* the collecting thread holds it and will see that it has ended */
    if (t->tid == mine.tid && sf_sample_ring_is_empty(&t->ring))
        profiled_thread_let_go(all, t);
    profiled_thread_give(t);
}

/* ---- in the collecting thread ---- */

struct update {
    struct sf_profiled_threads *all;
    struct sf_profiled_signals sigs;
    uint64_t period_ns;
};

/* False: the thread blocks this signal, or the kernel refuses more clocks. */
static bool start_perf(struct sf_profiled_threads *all, struct sf_profiled_thread *t, int sig,
                       uint64_t period_ns, uint64_t *each_ns)
{
    struct sf_clock_aim aim = {t->tid, sig, period_ns};
    /* Programs may have unblocked only SIGPROF in their threads. */
    if (!sf_tasks_takes_signal(t->tid, sig))
        return false;
    t->n_slices = sf_tasks_slices(t->tid);
    *each_ns = sf_clock_pair_start(&t->perf, &aim, &all->chance);
    return *each_ns;
}

static void profiled_thread_on_task(uint32_t tid, void *arg)
{
    struct update *u = arg;
    struct sf_profiled_threads *all = u->all;
    uint64_t period_ns, each_ns;
    struct sf_profiled_thread *t;

    if (sf_guest_thread_is(tid))
        return;
    t = profiled_thread_claim(all, tid, true);
    if (!t)
        return;
    period_ns = vary(&all->chance, u->period_ns);
    profiled_thread_prepare(t, period_ns);
    t->start = 0;
    if (all->has_perf && start_perf(all, t, u->sigs.perf, u->period_ns, &each_ns)) {
        atomic_store(&t->period_ns, each_ns);
        atomic_store(&t->gap_ns, each_ns);
    }
    if (sf_clock_pair_is_on(&t->perf) ||
        (!all->is_refused && arm_timer(all, t, u->sigs.timer, period_ns, period_ns)))
        atomic_fetch_add(&all->n_armed, 1);
    else
        atomic_store(&t->tid, 0);
    profiled_thread_give(t);
}

/* Switches a thread that lives longer to perf's clock, which does not depend on the kernel's ticks.
 * The timer's samples so far are correct on average and are not adjusted. */
static void go_on_with_perf(struct sf_profiled_threads *all, struct sf_profiled_thread *t, int sig,
                            uint64_t period_ns)
{
    uint64_t each_ns;
    if (!start_perf(all, t, sig, period_ns, &each_ns))
        return;
    timer_delete(t->timer);
    atomic_store(&t->owed_ns, 0);
    settle_perf(t, each_ns);
    if (atomic_load(&t->owed_ns) < 0)
        atomic_store(&t->owed_ns, 0);
}

/* Switches a thread with many context switches to a timer, and settles its time so far. */
static void go_on_with_timer(struct sf_profiled_threads *all, struct sf_profiled_thread *t, int sig,
                             uint64_t period_ns)
{
    if (all->is_refused || !arm_timer(all, t, sig, period_ns, period_ns)) {
        t->is_ticked = false;
        return;
    }
    sf_clock_pair_stop(&t->perf);
    settle_perf(t, period_ns);
}

/* Whether a thread on a timer has so few context switches now that perf's clock is cheap. */
static bool may_have_perf(struct sf_profiled_thread *t, uint64_t period_ns)
{
    enum { CALM_PARTS = 800 };
    uint64_t n_slices, since_ns = t->since_ns;
    if (!t->is_ticked || since_ns < DRAW_AFTER * period_ns)
        return false;
    t->since_ns = 0;
    t->is_ticked = !count_slices(t, &n_slices) || is_switching(n_slices, since_ns, CALM_PARTS);
    return !t->is_ticked;
}

enum { MUCH_RAISED = 3 };

static void change_clock(struct sf_profiled_threads *all, struct sf_profiled_thread *t,
                         const struct update *u, bool has_run)
{
    uint64_t period_ns = t->is_hastened ? all->fast_ns : u->period_ns;
    bool is_raised = atomic_load(&t->period_ns) > MUCH_RAISED * period_ns;
    if (all->has_perf && (t->is_fresh || may_have_perf(t, period_ns))) {
        go_on_with_perf(all, t, u->sigs.perf, period_ns);
    } else if ((has_run || is_raised) && sf_clock_pair_is_on(&t->perf)) {
        change_perf(all, t, u->sigs.perf, period_ns);
        if (t->is_ticked)
            go_on_with_timer(all, t, u->sigs.timer, vary(&all->chance, period_ns));
    } else if (is_raised) {
        shorten_gap(t, vary(&all->chance, period_ns));
    } else if (has_run) {
        change_period(t, vary(&all->chance, period_ns));
    }
    t->is_fresh = false;
}

static void drain_one(struct sf_profiled_thread *t, sf_profiled_drain drain, void *arg)
{
    uint64_t drained_ns = drain(t, arg);
    t->given_ns += drained_ns;
    t->since_ns += drained_ns;
    t->has_run |= drained_ns > 0;
}

static void maintain(struct sf_profiled_thread *t, const struct update *u, bool is_whole,
                     sf_profiled_drain drain, void *arg)
{
    bool has_ended = atomic_load(&t->is_ended); /* read before its last samples are collected */
    drain_one(t, drain, arg);
    if (has_ended || (is_whole && !t->is_seen)) {
        profiled_thread_let_go(u->all, t);
        return;
    }
    find_stack(t);
    change_clock(u->all, t, u, t->has_run);
    t->has_run = false;
}

void sf_profiled_threads_drain(struct sf_profiled_threads *all, sf_profiled_drain drain, void *arg)
{
    for (uint32_t i = 0; i < atomic_load(&all->n); i++) {
        struct sf_profiled_thread *t = atomic_load(&all->blocks[i]);
        if (!hold(t))
            continue;
        if (t->tid)
            drain_one(t, drain, arg);
        profiled_thread_give(t);
    }
}

void sf_profiled_threads_update(struct sf_profiled_threads *all, struct sf_profiled_signals sigs,
                                uint64_t period_ns, sf_profiled_drain drain, void *arg)
{
    struct update u = {all, sigs, period_ns};
    uint32_t n = atomic_load(&all->n);
    bool is_whole;
    for (uint32_t i = 0; i < n; i++) {
        struct sf_profiled_thread *t = atomic_load(&all->blocks[i]);
        if (!hold(t)) /* the thread is joining, and will be seen next time, or leaving */
            continue;
        t->is_seen = false;
        profiled_thread_give(t);
    }
    is_whole = sf_tasks_each(profiled_thread_on_task, &u);
    n = atomic_load(&all->n);
    for (uint32_t i = 0; i < n; i++) {
        struct sf_profiled_thread *t = atomic_load(&all->blocks[i]);
        if (!hold(t))
            continue;
        if (t->tid)
            maintain(t, &u, is_whole, drain, arg);
        profiled_thread_give(t);
    }
    atomic_store(&all->join_period_ns, period_ns);
    if (!atomic_load(&all->joinable)) {
        atomic_store(&all->join_signal, sigs.timer);
        atomic_store(&all->joinable, ++all->n_times);
    }
}

void sf_profiled_threads_hasten(struct sf_profiled_threads *all, const uint32_t *tids, uint32_t n,
                                uint64_t period_ns)
{
    all->fast_ns = period_ns;
    for (uint32_t i = 0; i < atomic_load(&all->n); i++) {
        struct sf_profiled_thread *t = atomic_load(&all->blocks[i]);
        uint32_t at = 0;
        while (at < n && tids[at] != t->tid)
            at++;
        t->is_hastened = at < n;
    }
}

void sf_profiled_threads_stop(struct sf_profiled_threads *all, sf_profiled_drain drain, void *arg)
{
    atomic_store(&all->joinable, 0);
    for (uint32_t i = 0; i < atomic_load(&all->n); i++) {
        struct sf_profiled_thread *t = atomic_load(&all->blocks[i]);
        if (!hold(t)) /* the thread is joining, and will see that profiling has ended, or leaving */
            continue;
        if (t->tid) {
            drain(t, arg);
            profiled_thread_let_go(all, t);
        }
        profiled_thread_give(t);
    }
}

uint32_t sf_profiled_threads_n(const struct sf_profiled_threads *all)
{
    return atomic_load(&all->n_armed);
}

void sf_profiled_threads_forget(struct sf_profiled_threads *all)
{
    sf_lock_reset(&all->lock);
    atomic_store(&all->joinable, 0);
    for (uint32_t i = 0; i < atomic_load(&all->n); i++) {
        struct sf_profiled_thread *t = atomic_load(&all->blocks[i]);
        atomic_store(&t->tid, 0);
        atomic_store(&t->is_ended, false);
        profiled_thread_give(t);
        sf_clock_pair_forget(&t->perf);
        atomic_store(&t->ring.tail, atomic_load(&t->ring.head));
    }
    atomic_store(&all->n_armed, 0);
    mine.block = NULL;
    mine.tid = 0;
}
