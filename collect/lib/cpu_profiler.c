#include "collect/lib/cpu_profiler.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "collect/lib/profiled_thread.h"
#include "collect/lib/sample_take.h"
#include "collect/sys/clock.h"

#define TURN_NS ((int64_t)100000000) /* how soon a new thread is found */

static struct {
    atomic_bool is_on; /* handlers take samples */
    struct sf_profiled_threads threads;
    uint64_t period_ns;
    int n_users; /* the collecting thread's: CPU and wall profiles */
    int signal;
    bool has_handler;
    struct sigaction before;
} p;

/* ---- in the handler ---- */

static void take_sample(struct sf_profiled_thread *t, const siginfo_t *info, const void *context)
{
    struct sf_sample *s = &t->scratch; /* not on the stack: alternate ones are small */
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
    s->wait = SF_WAIT_NONE; /* what else */
    s->thread = t->tid;
    sf_profiled_thread_weigh(t, info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0, s->values);
    s->end = (uint8_t)end;
    s->time_ns = (uint64_t)sf_clock_mono_ns();
    sf_sample_note_span(s);
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

/* libc's, past the thread sanitizer, which keeps a signal back until its thread calls something: by
 * then the stack is another one. */
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
    if (!p.signal || act_on(p.signal, &action, &p.before)) {
        sf_fail(why, SF_ERR_IO, "profile: every signal is in use");
        return false;
    }
    p.has_handler = true;
    return true;
}

/* ---- the collecting thread ---- */

static uint64_t drain(struct sf_profiled_thread *t, void *arg)
{
    struct sf_sample s;
    uint64_t ns = 0;
    (void)arg;
    while (sf_sample_ring_get(&t->ring, &s)) {
        ns += s.values[1];
        sf_profiler_add(&s);
        if (sf_profiler_is_on(SF_SAMPLES_WALL)) { /* a thread that runs is somewhere, too */
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

/* A program that takes the signal for itself keeps it: we move to another one. */
static void mind_signal(void)
{
    struct sigaction now;
    if (act_on(p.signal, NULL, &now) ||
        (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_signal))
        return;
    sf_profiled_threads_stop(&p.threads, drain, NULL);
    p.has_handler = false;
    if (!take_signal(NULL))
        atomic_store(&p.is_on, false);
}

int64_t sf_cpu_profiler_turn(int64_t now_ns)
{
    (void)now_ns;
    mind_signal();
    sf_profiled_threads_update(&p.threads, p.signal, p.period_ns, drain, NULL);
    return TURN_NS;
}

enum sf_err sf_cpu_profiler_begin(uint64_t period_ns, struct sf_why *why)
{
    if (!take_signal(why))
        return SF_ERR_IO;
    if (p.n_users++)
        return SF_OK;
    p.period_ns = period_ns ? period_ns : 1000000000 / SF_DEFAULT_HZ;
    atomic_store_explicit(&p.is_on, true, memory_order_release);
    sf_profiled_threads_update(&p.threads, p.signal, p.period_ns, drain, NULL);
    if (!sf_profiled_threads_n(&p.threads))
        sf_fail(why, SF_ERR_IO, "profile: the system gives no timers");
    return SF_OK;
}

void sf_cpu_profiler_end(void)
{
    if (--p.n_users)
        return;
    atomic_store(&p.is_on, false);
    sf_profiled_threads_stop(&p.threads, drain, NULL);
}

const struct sf_sample *sf_cpu_profiler_last(uint32_t thread)
{
    for (uint32_t i = 0; i < p.threads.n; i++) {
        const struct sf_profiled_thread *t = atomic_load(&p.threads.blocks[i]);
        if (t->tid == thread && t->last.thread == thread)
            return &t->last;
    }
    return NULL;
}

const struct sf_profile_source sf_cpu_source = {
    .begin = sf_cpu_profiler_begin, .end = sf_cpu_profiler_end, .turn = sf_cpu_profiler_turn};

void sf_cpu_profiler_after_fork(void)
{
    atomic_store(&p.is_on, false);
    p.n_users = 0;
    sf_profiled_threads_forget(&p.threads);
}
