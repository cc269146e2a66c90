#include "collect/sys/guest_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/time_unit.h"

enum {
    STACK_LEN = 256 * 1024
}; /* enough for name lookups, for which PTHREAD_STACK_MIN is too
    * small */

__thread bool sf_guest_is_at_work;

/* Of a program that is built with the thread sanitizer. It sees the calls of memcpy() and the like
 * that this library makes, and not the atomics between them, because the library is not built with
 * it: all such pairs look like races. */
extern void AnnotateIgnoreReadsBegin(const char *file, int line) __attribute__((weak));
extern void AnnotateIgnoreReadsEnd(const char *file, int line) __attribute__((weak));

void sf_guest_thread_unwatch(void)
{
    if (AnnotateIgnoreReadsBegin && AnnotateIgnoreReadsEnd)
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__); /* and writes */
}

void sf_guest_thread_watch(void)
{
    if (AnnotateIgnoreReadsBegin && AnnotateIgnoreReadsEnd)
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

enum { MAX_GUESTS = 8 };
static struct {
    atomic_uint tid; /* 0: none */
    atomic_bool is_profiling;
} guests[MAX_GUESTS];
static atomic_uint_fast64_t ended_ns; /* CPU time of profiling threads that have ended */

static void guest_thread_sign_in(bool is_profiling)
{
    unsigned tid = (unsigned)syscall(SYS_gettid);
    for (int i = 0; i < MAX_GUESTS; i++) {
        unsigned none = 0;
        if (atomic_compare_exchange_strong(&guests[i].tid, &none, tid)) {
            atomic_store(&guests[i].is_profiling, is_profiling);
            return;
        }
    }
}

static void sign_out(void)
{
    unsigned tid = (unsigned)syscall(SYS_gettid);
    for (int i = 0; i < MAX_GUESTS; i++) {
        if (atomic_load(&guests[i].tid) == tid) {
            atomic_store(&guests[i].is_profiling, false);
            atomic_store(&guests[i].tid, 0);
        }
    }
}

bool sf_guest_thread_is(uint32_t tid)
{
    for (int i = 0; i < MAX_GUESTS; i++) {
        if (atomic_load(&guests[i].tid) == tid)
            return true;
    }
    return false;
}

static uint64_t guest_thread_cpu_ns_of(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) ? 0 : (uint64_t)t.tv_sec * SF_NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t sf_guest_thread_cpu_ns(void)
{
    uint64_t ns = atomic_load(&ended_ns);
    int saved = errno;
    for (int i = 0; i < MAX_GUESTS; i++) {
        unsigned tid = atomic_load(&guests[i].tid);
        if (tid && atomic_load(&guests[i].is_profiling))
            ns += guest_thread_cpu_ns_of((clockid_t)(~tid << 3 | 6)); /* CPU clock of that thread */
    }
    errno = saved;
    return ns;
}

void sf_guest_thread_forget(void)
{
    atomic_store(&ended_ns, 0);
    for (int i = 0; i < MAX_GUESTS; i++)
        atomic_store(&guests[i].tid, 0);
}

void *sf_guest_thread_begin(void *guest)
{
    struct sf_guest g = *(struct sf_guest *)guest;
    guest_thread_sign_in(g.is_profiling);
    sf_guest_is_at_work = true;
    sf_heap_free(guest);
    prctl(PR_SET_NAME, g.name, 0, 0, 0);
    sf_guest_thread_unwatch();
    g.run(g.arg);
    sf_guest_thread_watch();
    if (g.is_profiling)
        atomic_fetch_add(&ended_ns, guest_thread_cpu_ns_of(CLOCK_THREAD_CPUTIME_ID));
    sign_out();
    return NULL;
}

bool sf_guest_thread_start(struct sf_guest g)
{
    int saved = errno;
    bool ok = false;
    pthread_attr_t attr;
    pthread_t id;
    sigset_t all, before;
    struct sf_guest *s = sf_heap_new(sizeof(*s));

    if (!s)
        return false;
    *s = g;
    if (!pthread_attr_init(&attr)) {
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attr, STACK_LEN);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread inherits this signal mask */
        ok = !pthread_create(&id, &attr, sf_guest_thread_begin, s);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attr);
    }
    if (!ok)
        sf_heap_free(s);
    errno = saved;
    return ok;
}
