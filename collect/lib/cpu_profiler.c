#include "collect/lib/cpu_profiler.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "collect/lib/profiled_thread.h"
#include "collect/lib/span_pool.h"
#include "collect/lib/thread.h"
#include "collect/sys/clock.h"
#include "collect/sys/thread.h"

enum { TURN_MS = 100 };

static struct {
    struct sf_lock lock; /* guards start and stop */
    bool is_running;     /* from start to stop */
    atomic_bool is_on;   /* handlers take samples */
    atomic_bool is_over; /* told to the thread */
    atomic_bool has_ended;
    struct sf_bell bell, ended;
    struct sf_profiled_threads threads;
    struct sf_cpu_profile profile;
    int64_t begin_mono_ns;
    int signal;
    bool has_handler;
    struct sigaction before;
    void (*between)(void);
} p;

/* ---- in the handler ---- */

/* The span this thread works on; one that another thread has ended gives way to the one under it,
 * as it would at the thread's next call. */
static void note_span(struct sf_sample *s)
{
    const struct sf_thread *t = &sf_thread_self;
    const uint8_t *record = t->record;
    if (record[SF_RECORD_VALID] != 1)
        return;
    if (t->current && !sf_span_pool_find(t->current)) {
        const struct sf_span_slot *slot = sf_span_pool_find_under(t->current);
        if (!slot)
            slot = sf_span_pool_find_under(t->under);
        if (!slot)
            return;
        record = slot->record;
    }
    memcpy(s->trace_id, record, 16);
    memcpy(s->span_id, record + 16, 8);
}

static void take_sample(struct sf_profiled_thread *t, const siginfo_t *info, const void *context)
{
    struct sf_sample *s = &t->scratch; /* not on the stack: alternate ones are small */
    struct sf_walk_regs regs = sf_walk_regs_of(context);
    const struct sf_modules *m = sf_modules_enter();
    enum sf_walk_end end = SF_WALK_UNKNOWN;
    struct sf_stack_copy *copy = NULL;
    struct sf_walk_stack view = sf_profiled_thread_view(t, regs.sp, &copy);

    memset(s->trace_id, 0, sizeof(s->trace_id));
    memset(s->span_id, 0, sizeof(s->span_id));
    s->frames[0] = regs.pc;
    s->n_frames = 1;
    if (m)
        s->n_frames = (uint16_t)sf_walk(m, regs, view, s->frames, SF_SAMPLE_FRAMES, &end);
    sf_stack_copy_give(copy);
    sf_modules_leave();
    s->weight = 1 + (info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0);
    s->end = (uint8_t)end;
    s->time_ns = (uint64_t)sf_clock_mono_ns();
    note_span(s);
    sf_sample_ring_put(&t->ring, s);
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
    int saved = errno;
    struct sf_profiled_thread *t = info->si_code == SI_TIMER
                                       ? sf_profiled_threads_find(&p.threads,
                                                                  info->si_value.sival_ptr)
                                       : NULL;
    if (t) {
        if (atomic_load_explicit(&p.is_on, memory_order_acquire))
            take_sample(t, info, context);
    } else if (p.before.sa_flags & SA_SIGINFO) {
        if (p.before.sa_sigaction)
            p.before.sa_sigaction(sig, info, context);
    } else if (p.before.sa_handler != SIG_DFL && p.before.sa_handler != SIG_IGN) {
        p.before.sa_handler(sig);
    }
    errno = saved;
}

/* ---- the signal ---- */

static bool is_free(int sig)
{
    struct sigaction now;
    return !sigaction(sig, NULL, &now) && !(now.sa_flags & SA_SIGINFO) &&
           (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN);
}

/* SIGPROF when the program does not use it itself, else a real-time signal nobody uses. It stays
 * ours for good: one on its way when a profile ends would kill the program. */
static bool take_signal(struct sf_why *why)
{
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    if (p.has_handler)
        return true;
    p.signal = is_free(SIGPROF) ? SIGPROF : 0;
    for (int sig = SIGRTMAX - 2; !p.signal && sig > SIGRTMIN; sig--)
        p.signal = is_free(sig) ? sig : 0;
    sigfillset(&action.sa_mask);
    if (!p.signal || sigaction(p.signal, &action, &p.before)) {
        sf_fail(why, SF_ERR_IO, "profile: every signal is in use");
        return false;
    }
    p.has_handler = true;
    return true;
}

/* ---- the collecting thread ---- */

static void drain(struct sf_profiled_thread *t, void *arg)
{
    struct sf_sample s;
    (void)arg;
    while (sf_sample_ring_get(&t->ring, &s)) {
        sf_profile_table_add(&p.profile.table, &s, t->tid);
        p.profile.n_samples++;
    }
    p.profile.n_dropped += atomic_exchange(&t->ring.dropped, 0);
}

/* A program that takes the signal for itself keeps it: we move to another one. */
static void mind_signal(void)
{
    struct sigaction now;
    if (sigaction(p.signal, NULL, &now) ||
        (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_signal))
        return;
    sf_profiled_threads_stop(&p.threads, drain, NULL);
    p.has_handler = false;
    if (!take_signal(NULL))
        atomic_store(&p.is_on, false);
}

static void run(void *arg)
{
    (void)arg;
    while (!atomic_load(&p.is_over)) {
        unsigned heard = sf_bell_heard(&p.bell);
        mind_signal();
        sf_modules_refresh();
        sf_profiled_threads_update(&p.threads, p.signal, p.profile.rate_hz, drain, NULL);
        if (p.between)
            p.between();
        if (!atomic_load(&p.is_over))
            sf_bell_wait(&p.bell, heard, (int64_t)TURN_MS * 1000000);
    }
    atomic_store(&p.is_on, false);
    sf_profiled_threads_stop(&p.threads, drain, NULL);
    atomic_store(&p.has_ended, true);
    sf_bell_ring(&p.ended);
}

void sf_cpu_profiler_between(void (*between)(void))
{
    p.between = between;
}

void sf_cpu_profiler_wake(void)
{
    sf_bell_ring(&p.bell);
}

enum sf_err sf_cpu_profiler_start(uint32_t rate_hz, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    if (!rate_hz || rate_hz > 1000)
        return sf_fail(why, SF_ERR_INPUT, "profile: a rate from 1 to 1000 Hz, not %u", rate_hz);
    sf_lock_take(&p.lock);
    if (p.is_running)
        err = sf_fail(why, SF_ERR_BUSY, "profile: one is running");
    else if (!sf_modules_refresh())
        err = sf_fail(why, SF_ERR_NOMEM, "profile: no memory for the unwind tables");
    else if (!take_signal(why))
        err = SF_ERR_IO;
    if (!err) {
        p.profile = (struct sf_cpu_profile){.rate_hz = rate_hz,
                                            .begin_unix_ns = sf_clock_unix_ns()};
        p.begin_mono_ns = sf_clock_mono_ns();
        atomic_store(&p.is_over, false);
        atomic_store(&p.has_ended, false);
        atomic_store_explicit(&p.is_on, true, memory_order_release);
        /* Before the thread runs: what the caller does next is sampled from its first moment. */
        sf_profiled_threads_update(&p.threads, p.signal, rate_hz, drain, NULL);
        p.is_running = sf_guest_thread_start("spanflame-prof", run, NULL);
        if (!p.is_running) {
            atomic_store(&p.is_on, false);
            sf_profiled_threads_stop(&p.threads, drain, NULL);
            sf_profile_table_done(&p.profile.table);
            err = sf_fail(why, SF_ERR_IO, "profile: the system gives no thread");
        } else if (!sf_profiled_threads_n(&p.threads)) {
            sf_fail(why, SF_ERR_IO, "profile: the system gives no timers");
        }
    }
    sf_lock_give(&p.lock);
    return err;
}

enum sf_err sf_cpu_profiler_stop(struct sf_cpu_profile *out, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    sf_lock_take(&p.lock);
    if (!p.is_running) {
        err = sf_fail(why, SF_ERR_NOT_FOUND, "profile: none is running");
    } else {
        atomic_store(&p.is_over, true);
        sf_bell_ring(&p.bell);
        while (!atomic_load(&p.has_ended)) {
            unsigned heard = sf_bell_heard(&p.ended);
            if (!atomic_load(&p.has_ended))
                sf_bell_wait(&p.ended, heard, 100000000);
        }
        p.profile.length_ns = sf_clock_mono_ns() - p.begin_mono_ns;
        *out = p.profile;
        p.profile = (struct sf_cpu_profile){0};
        p.is_running = false;
    }
    sf_lock_give(&p.lock);
    return err;
}

void sf_cpu_profiler_after_fork(void)
{
    sf_lock_reset(&p.lock);
    atomic_store(&p.is_on, false);
    p.is_running = false;
    sf_profiled_threads_forget(&p.threads);
    p.profile = (struct sf_cpu_profile){0};
}
