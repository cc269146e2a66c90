/* cpu_profiler.c - the CPU profiler. Each thread has a timer or perf event on its CPU time; its
 * signal runs on_signal() in that thread, which walks the stack and writes one sample into the
 * thread's ring. The collecting thread empties the rings on every turn and checks that the program
 * has not taken our signals for itself. */
#include "collect/lib/cpu_profiler.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "base/time_unit.h"
#include "collect/lib/own_cost.h"
#include "collect/lib/profiled_thread.h"
#include "collect/lib/sample.h"
#include "collect/lib/signal_price.h"
#include "collect/sys/clock.h"
#include "collect/sys/perf_clock.h"

#define TURN_NS        ((int64_t)100000000) /* how soon a new thread is found */
#define PROBE_AFTER_NS ((int64_t)1000000000)
#define PROBE_GAP_NS   ((int64_t)50000000)
#define PROBE_EVERY_NS ((int64_t)10000000000)

static struct {
    atomic_bool is_on; /* handlers record samples */
    struct sf_profiled_threads threads;
    uint64_t period_ns;
    int n_users; /* used by the collecting thread: CPU, wall and threads profiles */
    struct sf_profiled_signals signals;
    bool has_timer_signal, is_perf_asked;
    struct sf_signal_price price;
    unsigned n_probes;          /* signals measured so far */
    int64_t probe_ns;           /* time of the next measurement */
    struct sigaction before[2]; /* previous actions of the timer's and of perf's signal */
    struct sf_why no_perf;      /* why timers are used instead of perf */
} p;

/* Its default action is to do nothing, so a pending one is harmless when the program execs or
 * resets all signals. A pending signal of a timer is removed by exec. */
#define PERF_SIGNAL SIGURG

__thread struct sf_cpu_samples sf_cpu_samples_self;

/* ---- in the handler ---- */

static void cpu_profiler_take_sample(struct sf_profiled_thread *t, int overruns,
                                     const void *context, int64_t begin_ns)
{
    struct sf_raw_sample *s = &t->scratch; /* not on the stack: alternate signal stacks are small */
    struct sf_walk_regs regs = sf_walk_regs_of(context);
    const struct sf_modules *m = sf_modules_enter();
    enum sf_walk_end end = SF_WALK_UNKNOWN;
    struct sf_stack_copy *copy = NULL;
    struct sf_walk_stack view = sf_profiled_thread_view(t, regs.sp, &copy);

    s->frames[0] = regs.pc;
    s->n_frames = 1;
    if (m)
        s->n_frames = (uint16_t)sf_walk(m, regs, view, s->frames, sf_sample_max_frames, &end);
    sf_stack_copy_give(copy);
    sf_modules_leave();
    s->kind = SF_SAMPLES_CPU;
    s->wait = SF_WAIT_NONE;
    s->thread = t->tid;
    sf_profiled_thread_weigh(t, overruns > 0 ? (uint32_t)overruns : 0, s->values);
    s->end = (uint8_t)end;
    s->time_ns = (uint64_t)sf_clock_mono_ns();
    sf_sample_note_span(s);
    sf_cpu_samples_self.n++;
    sf_cpu_samples_self.ns += s->values[1];
    sf_sample_ring_put(&t->ring, s);
    if (sf_sample_ring_is_filling(&t->ring))
        sf_profiler_wake();
    sf_own_cost_add_signal(sf_clock_mono_ns() - begin_ns);
}

/* Whether the signal ended a system call with EINTR. Not if another handler is to run first: then
 * the thread is at the first instruction of that. The bytes before the beginning of a page may be
 * unreadable, so there no call is assumed. */
static bool has_ended_a_call(const void *context)
{
    const ucontext_t *u = context;
#if defined(__x86_64__)
    const uint8_t *pc = (const uint8_t *)u->uc_mcontext.gregs[REG_RIP];
    return u->uc_mcontext.gregs[REG_RAX] == -EINTR && ((uintptr_t)pc & 4095) >= 2 &&
           pc[-2] == 0x0f && pc[-1] == 0x05; /* syscall */
#else
    const uint32_t *pc = (const uint32_t *)u->uc_mcontext.pc;
    return (int64_t)u->uc_mcontext.regs[0] == -EINTR && ((uintptr_t)pc & 4095) >= 4 &&
           pc[-1] == 0xd4000001; /* svc #0 */
#endif
}

bool sf_cpu_profiler_is_on(void)
{
    return atomic_load_explicit(&p.is_on, memory_order_relaxed);
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
    int saved = errno;
    int64_t begin_ns = sf_clock_mono_ns();
    const struct sigaction *before = &p.before[sig == PERF_SIGNAL];
    struct sf_profiled_thread *t = NULL;
    bool is_theirs = false;
    if (info->si_code == SI_TIMER)
        t = sf_profiled_threads_find(&p.threads, info->si_value.sival_ptr);
    else if (sig == PERF_SIGNAL && info->si_code == POLL_IN)
        t = sf_profiled_threads_mine(&p.threads);
    if (t) {
        if (atomic_load_explicit(&p.is_on, memory_order_acquire) && !t->is_ended)
            cpu_profiler_take_sample(t, info->si_code == SI_TIMER ? info->si_overrun : 0, context,
                                     begin_ns);
    } else if (before->sa_flags & SA_SIGINFO) {
        is_theirs = before->sa_sigaction != NULL;
        if (is_theirs)
            before->sa_sigaction(sig, info, context);
    } else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
        is_theirs = true;
        before->sa_handler(sig);
    }
    if (!t)
        sf_cpu_samples_self.n_strays = sf_cpu_samples_self.n_strays + 1;
    sf_cpu_samples_self.n_ended += !is_theirs && has_ended_a_call(context);
    errno = saved;
}

/* ---- the signal ---- */

/* Calls libc's sigaction directly, because the thread sanitizer's delays a signal until the
 * thread's next call, when its stack has changed. */
static int act_on(int sig, const struct sigaction *action, struct sigaction *before)
{
#ifdef SF_UNDER_TSAN
    static int (*next)(int, const struct sigaction *, struct sigaction *);
    void *found = next ? NULL : dlsym(RTLD_NEXT, "sigaction");
    if (found)
        memcpy(&next, &found, sizeof(found));
    return next ? next(sig, action, before) : -1;
#else
    return sigaction(sig, action, before);
#endif
}

static bool is_free(int sig)
{
    struct sigaction now;
    return !act_on(sig, NULL, &now) && !(now.sa_flags & SA_SIGINFO) &&
           (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN);
}

static bool cpu_profiler_is_ours(int sig)
{
    struct sigaction now;
    return !act_on(sig, NULL, &now) && now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_signal;
}

static bool cpu_profiler_handle(int sig, struct sigaction *before)
{
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    return !act_on(sig, &action, before);
}

/* SIGPROF when the program does not use it itself, else an unused real-time signal. It is never
 * given up: a signal in flight when a profile ends would kill the program. */
static bool take_timer_signal(struct sf_why *why)
{
    if (p.has_timer_signal)
        return true;
    p.signals.timer = is_free(SIGPROF) ? SIGPROF : 0;
    for (int sig = SIGRTMAX - 2; !p.signals.timer && sig > SIGRTMIN; sig--)
        p.signals.timer = is_free(sig) ? sig : 0;
    p.has_timer_signal = p.signals.timer && cpu_profiler_handle(p.signals.timer, &p.before[0]);
    if (!p.has_timer_signal)
        sf_fail(why, SF_ERR_IO, "profile: every signal is in use");
    return p.has_timer_signal;
}

/* Asked once: later a sandbox may forbid the call, and trying it could end the program. */
static void ask_for_perf(void)
{
    if (p.is_perf_asked)
        return;
    p.is_perf_asked = true;
    p.signals.perf = PERF_SIGNAL;
    if (sf_perf_clock_try(&p.no_perf))
        return;
    if (is_free(PERF_SIGNAL) && cpu_profiler_handle(PERF_SIGNAL, &p.before[1]))
        p.threads.has_perf = true;
    else
        sf_fail(&p.no_perf, SF_ERR_BUSY, "the program uses SIGURG");
}

/* ---- the collecting thread ---- */

static uint64_t cpu_profiler_drain(struct sf_profiled_thread *t, void *arg)
{
    struct sf_raw_sample s;
    uint64_t ns = 0;
    (void)arg;
    while (sf_sample_ring_get(&t->ring, &s)) {
        ns += s.values[1];
        sf_profiler_add(&s);
        if (sf_profiler_is_on(SF_SAMPLES_WALL)) { /* a running thread also counts for the wall-clock
                                                   * profile */
            s.kind = SF_SAMPLES_WALL;
            s.wait = SF_WAIT_RUNNING;
            sf_profiler_add(&s);
        }
    }
    if (ns)
        t->last = s;
    sf_profiler_count_dropped(SF_SAMPLES_CPU, atomic_exchange(&t->ring.dropped, 0));
    return ns;
}

/* If the program has installed a handler for our signal, we use another signal, or timers instead
 * of perf. If it has reset signals (daemons do), we install our handler again. */
static void mind_signals(void)
{
    if (p.threads.has_perf && !cpu_profiler_is_ours(PERF_SIGNAL) &&
        (!is_free(PERF_SIGNAL) || !cpu_profiler_handle(PERF_SIGNAL, &p.before[1]))) {
        sf_profiled_threads_stop(&p.threads, cpu_profiler_drain, NULL);
        p.threads.has_perf = false;
        sf_fail(&p.no_perf, SF_ERR_BUSY, "the program uses SIGURG");
    }
    if (!p.has_timer_signal || cpu_profiler_is_ours(p.signals.timer))
        return;
    sf_profiled_threads_stop(&p.threads, cpu_profiler_drain, NULL);
    p.has_timer_signal = false;
    if (!take_timer_signal(NULL))
        atomic_store(&p.is_on, false);
}

void sf_cpu_profiler_drain(void)
{
    sf_profiled_threads_drain(&p.threads, cpu_profiler_drain, NULL);
}

/* Measures one signal per turn until there are enough for a mean, then one every 10 s, because the
 * cost changes with the load. Starts after a second: short programs are not delayed. */
static void probe_signal(int64_t now_ns)
{
#ifndef SF_UNDER_TSAN
    struct sf_signal_ask ask = {.sig = p.threads.has_perf ? p.signals.perf : p.signals.timer,
                                .has_perf = p.threads.has_perf,
                                .seen = &sf_cpu_samples_self.n_strays};
    if (now_ns < p.probe_ns)
        return;
    p.probe_ns = now_ns + (++p.n_probes < SF_SIGNAL_PRICES ? PROBE_GAP_NS : PROBE_EVERY_NS);
    sf_signal_price_note(&p.price, sf_signal_price_probe(&ask));
    sf_own_cost_price_signals(sf_signal_price_mean(&p.price));
#else
    (void)now_ns;
#endif
}

int64_t sf_cpu_profiler_turn(int64_t now_ns)
{
    mind_signals();
    if (atomic_load(&p.is_on))
        probe_signal(now_ns);
    sf_profiled_threads_update(&p.threads, p.signals, p.period_ns, cpu_profiler_drain, NULL);
    return TURN_NS;
}

enum sf_err sf_cpu_profiler_begin(uint64_t period_ns, struct sf_why *why)
{
    ask_for_perf();
    if (!take_timer_signal(why))
        return SF_ERR_IO;
    if (p.n_users++)
        return SF_OK;
    p.period_ns = period_ns ? period_ns : SF_NS_PER_S / SF_DEFAULT_HZ;
    p.probe_ns = sf_clock_mono_ns() + PROBE_AFTER_NS;
    atomic_store_explicit(&p.is_on, true, memory_order_release);
    sf_profiled_threads_update(&p.threads, p.signals, p.period_ns, cpu_profiler_drain, NULL);
    if (!sf_profiled_threads_n(&p.threads))
        sf_fail(why, SF_ERR_IO, "profile: no timer could be created");
    return SF_OK;
}

void sf_cpu_profiler_thread_begins(uintptr_t start)
{
    int saved = errno;
    if (sf_cpu_profiler_is_on())
        sf_profiled_threads_join(&p.threads, start);
    errno = saved;
}

void sf_cpu_profiler_thread_ends(void)
{
    int saved = errno;
    if (sf_cpu_profiler_is_on())
        sf_profiled_threads_leave(&p.threads);
    errno = saved;
}

const char *sf_cpu_profiler_no_perf(void)
{
    return p.threads.has_perf ? NULL : p.no_perf.text;
}

void sf_cpu_profiler_end(void)
{
    if (--p.n_users)
        return;
    atomic_store(&p.is_on, false);
    sf_profiled_threads_stop(&p.threads, cpu_profiler_drain, NULL);
}

const struct sf_raw_sample *sf_cpu_profiler_last(uint32_t thread)
{
    for (uint32_t i = 0; i < atomic_load(&p.threads.n); i++) {
        const struct sf_profiled_thread *t = atomic_load(&p.threads.blocks[i]);
        if (t->tid == thread && t->last.thread == thread)
            return &t->last;
    }
    return NULL;
}

void sf_cpu_profiler_hasten(const uint32_t *tids, uint32_t n, uint64_t period_ns)
{
    sf_profiled_threads_hasten(&p.threads, tids, n, period_ns);
}

static void cpu_profiler_pace(uint64_t period_ns)
{
    p.period_ns = period_ns;
}

const struct sf_profiler_source sf_cpu_source = {.begin = sf_cpu_profiler_begin,
                                                 .end = sf_cpu_profiler_end,
                                                 .turn = sf_cpu_profiler_turn,
                                                 .drain = sf_cpu_profiler_drain,
                                                 .pace = cpu_profiler_pace};

void sf_cpu_profiler_after_fork(void)
{
    atomic_store(&p.is_on, false);
    p.n_users = 0;
    sf_profiled_threads_forget(&p.threads);
}
