/* wall_profiler.c - lists the program's threads through /proc, examines a few of them per turn for
 * the wall profile, and all of them for a profile of threads. A waiting thread's stack is copied
 * and walked here; for a running one, the last CPU sample is used. */
#include "collect/lib/wall_profiler.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "collect/lib/cpu_profiler.h"
#include "collect/lib/governor.h"
#include "collect/lib/sample.h"
#include "collect/lib/snapshot_pace.h"
#include "collect/lib/stack_copy.h"
#include "collect/lib/thread.h"
#include "collect/sys/clock.h"
#include "collect/sys/guest_thread.h"
#include "collect/sys/tasks.h"

enum { SAMPLES_PER_TURN = 16, THREADS_MAX = 1024 };
#define DEFAULT_PERIOD_NS ((uint64_t)50000000)

static struct {
    struct seen {
        uint32_t tid; /* 0: free */
        bool is_there;
        int64_t sampled_ns;
        uint64_t delay_ns; /* time in the run queue, until the last check */
    } threads[THREADS_MAX];
    uint32_t n, next;
    int64_t period_ns, next_ns, listed_ns;
} w; /* used by the collecting thread only */

/* ---- one thread ---- */

/* The kind of file that the thread waits for. The descriptor may have been reused meanwhile: then
 * only the label is wrong. */
static enum sf_wait wait_of_file(uint64_t fd)
{
    struct stat st;
    if (fd > INT32_MAX || fstat((int)fd, &st))
        return SF_WAIT_IO;
    if (S_ISSOCK(st.st_mode))
        return SF_WAIT_NETWORK;
    return S_ISREG(st.st_mode) || S_ISBLK(st.st_mode) ? SF_WAIT_DISK : SF_WAIT_IO;
}

static enum sf_wait wall_profiler_wait_of(const struct sf_task_wait *t)
{
    switch (t->call) {
    case SYS_futex: return SF_WAIT_LOCK;
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_rt_sigtimedwait: return SF_WAIT_SLEEP;
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait: return SF_WAIT_POLL;
#ifdef SYS_poll /* aarch64 has only the newer forms of these */
    case SYS_pause: return SF_WAIT_SLEEP;
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait: return SF_WAIT_POLL;
#endif
    case SYS_wait4:
    case SYS_waitid: return SF_WAIT_CHILD;
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_sendto:
    case SYS_sendmsg: return SF_WAIT_NETWORK;
    case SYS_fsync:
    case SYS_fdatasync: return SF_WAIT_DISK;
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64: return wait_of_file(t->arg);
    default: return SF_WAIT_NONE;
    }
}

static bool wall_profiler_is_same(const struct sf_task_wait *a, const struct sf_task_wait *b)
{
    return a->call == b->call && a->sp == b->sp && a->pc == b->pc;
}

/* The stack and span of a waiting thread; false: it runs, has moved on, or has ended. */
static bool wall_profiler_look(uint32_t tid, struct sf_raw_sample *s, enum sf_task_state *state)
{
    struct sf_task_wait before, after;
    struct sf_thread_state thread;
    struct sf_stack_copy *copy;
    struct sf_walk_stack view;
    const struct sf_modules *m;
    enum sf_walk_end end = SF_WALK_UNKNOWN;

    *state = sf_tasks_wait(tid, &before);
    if (*state != SF_TASK_WAITS)
        return false;
    view = sf_stack_copy_take(before.sp, &copy);
    memset(s->trace_id, 0, sizeof(s->trace_id));
    memset(s->span_id, 0, sizeof(s->span_id));
    if (sf_thread_peek(tid, &thread))
        sf_sample_note_span_of(s, &thread);
    *state = sf_tasks_wait(tid, &after);
    if (*state == SF_TASK_WAITS && wall_profiler_is_same(&before, &after)) {
        m = sf_modules_enter();
        s->frames[0] = before.pc;
        s->n_frames = 1;
        if (m)
            s->n_frames = (uint16_t)sf_walk(m, (struct sf_walk_regs){before.pc, before.sp, 0, true},
                                            view, s->frames, sf_sample_max_frames, &end);
        sf_modules_leave();
        s->end = (uint8_t)end;
    } else if (*state == SF_TASK_WAITS) {
        *state = SF_TASK_RUNS; /* it ran between the two checks */
    }
    sf_stack_copy_give(copy);
    s->wait = (uint8_t)wall_profiler_wait_of(&before);
    s->thread = tid;
    s->time_ns = (uint64_t)sf_clock_mono_ns();
    return *state == SF_TASK_WAITS;
}

/* ---- wall ---- */

static void wall_profiler_on_task(uint32_t tid, void *arg)
{
    const int64_t *now_ns = arg;
    struct seen *free_one = NULL;
    if (sf_guest_thread_is(tid))
        return;
    for (uint32_t i = 0; i < w.n; i++) {
        if (w.threads[i].tid == tid) {
            w.threads[i].is_there = true;
            return;
        }
        if (!w.threads[i].tid && !free_one)
            free_one = &w.threads[i];
    }
    if (!free_one && w.n < THREADS_MAX)
        free_one = &w.threads[w.n++];
    if (free_one)
        *free_one = (struct seen){tid, true, *now_ns, sf_tasks_run_delay(tid)};
}

static void list_threads(int64_t now_ns)
{
    bool is_whole;
    for (uint32_t i = 0; i < w.n; i++)
        w.threads[i].is_there = false;
    is_whole = sf_tasks_each(wall_profiler_on_task, &now_ns);
    for (uint32_t i = 0; i < w.n && is_whole; i++) {
        if (!w.threads[i].is_there)
            w.threads[i].tid = 0;
    }
    w.listed_ns = now_ns;
}

/* A runnable thread that waits for a CPU: the kernel counts that time. Its stack is that of its
 * last CPU sample. */
static void add_delay(struct seen *t)
{
    const struct sf_raw_sample *last = sf_cpu_profiler_last(t->tid);
    uint64_t delay_ns = sf_tasks_run_delay(t->tid);
    struct sf_raw_sample s;
    if (last && delay_ns > t->delay_ns) {
        s = *last;
        s.kind = SF_SAMPLES_WALL;
        s.wait = SF_WAIT_RUN_QUEUE;
        s.values[0] = 1;
        s.values[1] = delay_ns - t->delay_ns;
        sf_profiler_add(&s);
    }
    t->delay_ns = delay_ns;
}

static void sample_some(void)
{
    struct sf_raw_sample s = {.kind = SF_SAMPLES_WALL};
    uint32_t n_sampled = 0;
    for (uint32_t i = 0; i < w.n && n_sampled < SAMPLES_PER_TURN; i++) {
        struct seen *t = &w.threads[w.next++ % w.n];
        enum sf_task_state state;
        int64_t now_ns = sf_clock_mono_ns();
        if (!t->tid)
            continue;
        n_sampled++;
        if (wall_profiler_look(t->tid, &s, &state)) {
            s.values[0] = 1;
            s.values[1] = (uint64_t)(now_ns - t->sampled_ns);
            sf_profiler_add(&s);
        } else if (state == SF_TASK_RUNS) {
            add_delay(t);
        }
        t->sampled_ns = now_ns;
    }
}

static int64_t wall_profiler_turn(int64_t now_ns)
{
    if (!sf_profiler_is_on(SF_SAMPLES_CPU))
        sf_cpu_profiler_turn(now_ns);
    if (now_ns - w.listed_ns >= 100000000)
        list_threads(now_ns);
    if (now_ns >= w.next_ns) {
        sample_some();
        w.next_ns = now_ns + w.period_ns;
    }
    return w.next_ns - now_ns;
}

static enum sf_err wall_profiler_begin(uint64_t period_ns, struct sf_why *why)
{
    int64_t now_ns = sf_clock_mono_ns();
    w.n = w.next = 0;
    w.period_ns = (int64_t)(period_ns ? period_ns : DEFAULT_PERIOD_NS);
    w.next_ns = now_ns + w.period_ns;
    list_threads(now_ns);
    return sf_cpu_profiler_begin(sf_profiler_period(SF_SAMPLES_CPU), why);
}

static void wall_profiler_end(void)
{
    sf_cpu_profiler_end();
}

static void wall_profiler_pace(uint64_t period_ns)
{
    w.period_ns = (int64_t)period_ns;
}

const struct sf_profiler_source sf_wall_source = {.begin = wall_profiler_begin,
                                                  .end = wall_profiler_end,
                                                  .turn = wall_profiler_turn,
                                                  .drain = sf_cpu_profiler_drain,
                                                  .pace = wall_profiler_pace};

/* ---- threads ---- */

static void wall_profiler_add_thread(uint32_t tid, void *arg)
{
    struct sf_raw_sample s = {.kind = SF_SAMPLES_THREADS, .values = {1, 0}};
    const struct sf_raw_sample *last = sf_cpu_profiler_last(tid);
    enum sf_task_state state;
    (void)arg;
    if (sf_guest_thread_is(tid))
        return;
    if (!wall_profiler_look(tid, &s, &state)) {
        if (state == SF_TASK_GONE)
            return;
        if (last) { /* it runs: use the stack of its last CPU sample */
            s = *last;
            s.kind = SF_SAMPLES_THREADS;
            s.values[0] = 1;
            s.values[1] = 0;
        } else {
            s.end = SF_WALK_UNKNOWN;
            s.n_frames = 0;
        }
        s.wait = SF_WAIT_RUNNING;
        s.thread = tid;
    }
    sf_profiler_add(&s);
}

static struct sf_snapshot_pace snapshots; /* for the server; used by the collecting thread only */

static void take_all(void)
{
    int64_t now_ns = sf_clock_mono_ns();
    uint64_t begin_ns = sf_clock_thread_cpu_ns(), process_ns = sf_clock_process_cpu_ns();
    bool is_sent = sf_profiler_on_for(SF_FOR_SERVER);
    if (is_sent && !sf_snapshot_pace_is_due(&snapshots, sf_governor_budget(), now_ns, process_ns))
        return;
    sf_tasks_each(wall_profiler_add_thread, NULL);
    if (is_sent)
        snapshots = (struct sf_snapshot_pace){now_ns, process_ns,
                                              sf_clock_thread_cpu_ns() - begin_ns};
}

static enum sf_err begin_threads(uint64_t period, struct sf_why *why)
{
    (void)period;
    return sf_cpu_profiler_begin(sf_profiler_period(SF_SAMPLES_CPU), why);
}

static int64_t turn_threads(int64_t now_ns)
{
    if (!sf_profiler_is_on(SF_SAMPLES_CPU) && !sf_profiler_is_on(SF_SAMPLES_WALL))
        return sf_cpu_profiler_turn(now_ns);
    return INT64_MAX;
}

const struct sf_profiler_source sf_threads_source = {.begin = begin_threads,
                                                     .end = wall_profiler_end,
                                                     .turn = turn_threads,
                                                     .drain = sf_cpu_profiler_drain,
                                                     .close = take_all};

void sf_wall_profiler_after_fork(void)
{
    w.n = w.next = 0;
    snapshots = (struct sf_snapshot_pace){0};
}
