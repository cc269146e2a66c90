#include "os/thread.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/invariant.h"
#include "base/time_unit.h"

struct start {
    void (*run)(void *arg);
    void *arg;
    char name[16];
    int nice_level;
};

static void *thread_begin(void *raw)
{
    struct start start = *(struct start *)raw;
    sf_heap_free(raw);
    pthread_setname_np(pthread_self(), start.name);
    if (start.nice_level)
        sf_thread_set_nice(start.nice_level);
    start.run(start.arg);
    return NULL;
}

enum sf_err sf_thread_start(struct sf_thread *t, const char *name, int nice_level,
                            void (*run)(void *arg), void *arg, struct sf_why *why)
{
    sigset_t all, old;
    int failed;
    struct start *start = sf_heap_new(sizeof(*start));

    if (!start)
        return sf_fail(why, SF_ERR_NOMEM, "thread %s: no memory to start it", name);
    start->run = run;
    start->arg = arg;
    start->nice_level = nice_level;
    strncpy(start->name, name, sizeof(start->name) - 1);

    /* Signals are handled by the main thread, except for those that profilers use to sample
     * threads. */
    sigfillset(&all);
    sigdelset(&all, SIGPROF);
    sigdelset(&all, SIGURG);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    failed = pthread_create(&t->handle, NULL, thread_begin, start);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (failed) {
        sf_heap_free(start);
        return sf_fail(why, SF_ERR_NOMEM, "thread %s: %s", name, strerror(failed));
    }
    t->is_running = true;
    return SF_OK;
}

void sf_thread_join(struct sf_thread *t)
{
    if (!t->is_running)
        return;
    pthread_join(t->handle, NULL);
    t->is_running = false;
}

void sf_thread_set_nice(int nice_level)
{
    /* On Linux, setpriority() with a thread id changes that thread only. */
    (void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), nice_level);
}

unsigned sf_thread_cores(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return n > 0 ? (unsigned)n : 1;
}

unsigned sf_thread_pid(void)
{
    return (unsigned)getpid();
}

/* ---- the order of locks ---- */

#ifdef SF_LOCK_ORDER
static _Thread_local struct sf_locks_held held;

/* Called before waiting for the lock. */
static void check_order(enum sf_lock_rank rank)
{
    enum sf_lock_rank broken = sf_lock_order_breaks(&held, rank);
    if (broken == SF_LOCK_ANY)
        return;
    fprintf(stderr, "locks out of order: \"%s\" is taken while \"%s\" is held\n",
            sf_lock_order_name(rank), sf_lock_order_name(broken));
    SF_ASSERT(!"locks are taken in the order of os/lock_order.h");
}

static void note_taken(enum sf_lock_rank rank)
{
    sf_lock_order_add(&held, rank);
}

static void note_given(enum sf_lock_rank rank)
{
    sf_lock_order_remove(&held, rank);
}
#else
static void check_order(__attribute__((unused)) enum sf_lock_rank rank)
{
}

static void note_taken(__attribute__((unused)) enum sf_lock_rank rank)
{
}

static void note_given(__attribute__((unused)) enum sf_lock_rank rank)
{
}
#endif

/* ---- locks ---- */

void sf_mutex_init(struct sf_mutex *m, enum sf_lock_rank rank)
{
    SF_ASSERT(pthread_mutex_init(&m->m, NULL) == 0);
    m->rank = rank;
}

void sf_mutex_done(struct sf_mutex *m)
{
    pthread_mutex_destroy(&m->m);
}

void sf_mutex_lock(struct sf_mutex *m)
{
    check_order(m->rank);
    SF_ASSERT(pthread_mutex_lock(&m->m) == 0);
    note_taken(m->rank);
}

bool sf_mutex_try(struct sf_mutex *m)
{
    if (pthread_mutex_trylock(&m->m) != 0)
        return false;
    note_taken(m->rank);
    return true;
}

void sf_mutex_unlock(struct sf_mutex *m)
{
    note_given(m->rank);
    SF_ASSERT(pthread_mutex_unlock(&m->m) == 0);
}

void sf_condvar_init(struct sf_condvar *s)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC); /* a change of the wall clock must not
                                                        * prolong a wait */
    SF_ASSERT(pthread_cond_init(&s->c, &attr) == 0);
    pthread_condattr_destroy(&attr);
}

void sf_condvar_done(struct sf_condvar *s)
{
    pthread_cond_destroy(&s->c);
}

void sf_condvar_wait(struct sf_condvar *s, struct sf_mutex *m)
{
    pthread_cond_wait(&s->c, &m->m);
}

bool sf_condvar_wait_until(struct sf_condvar *s, struct sf_mutex *m, int64_t deadline_ns)
{
    struct timespec t = {.tv_sec = deadline_ns / SF_NS_PER_S, .tv_nsec = deadline_ns % SF_NS_PER_S};
    return pthread_cond_timedwait(&s->c, &m->m, &t) == 0;
}

void sf_condvar_wake_one(struct sf_condvar *s)
{
    pthread_cond_signal(&s->c);
}

void sf_condvar_wake_all(struct sf_condvar *s)
{
    pthread_cond_broadcast(&s->c);
}

void sf_rwlock_init(struct sf_rwlock *l, enum sf_lock_rank rank)
{
    pthread_rwlockattr_t attr;
    pthread_rwlockattr_init(&attr);
    /* By default a steady stream of readers can block a writer forever. */
    pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    SF_ASSERT(pthread_rwlock_init(&l->l, &attr) == 0);
    l->rank = rank;
    pthread_rwlockattr_destroy(&attr);
}

void sf_rwlock_done(struct sf_rwlock *l)
{
    pthread_rwlock_destroy(&l->l);
}

void sf_rwlock_share(struct sf_rwlock *l)
{
    check_order(l->rank);
    SF_ASSERT(pthread_rwlock_rdlock(&l->l) == 0);
    note_taken(l->rank);
}

void sf_rwlock_exclude(struct sf_rwlock *l)
{
    check_order(l->rank);
    SF_ASSERT(pthread_rwlock_wrlock(&l->l) == 0);
    note_taken(l->rank);
}

void sf_rwlock_release(struct sf_rwlock *l)
{
    note_given(l->rank);
    SF_ASSERT(pthread_rwlock_unlock(&l->l) == 0);
}
