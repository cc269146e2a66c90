/* pthread_create, wrapped so that a thread's CPU clock starts with the thread: the collecting
 * thread searches for new threads only ten times a second, and many live shorter. Threads made
 * otherwise (thrd_create, clone) are still found that way. The end of a thread is detected by a
 * key's destructor, which pthread_exit and cancellation run as well: in its second round, because
 * the program's own destructors, which are to be profiled too, run in the first. */
#include <errno.h>
#include <pthread.h>

#include "base/heap.h"
#include "collect/hook/next.h"
#include "collect/lib/cpu_profiler.h"
#include "collect/sys/guest_thread.h"

struct start {
    void *(*run)(void *);
    void *arg;
};

static int (*next_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static pthread_key_t key;
static bool has_key;
static char is_last; /* its address as the key's value marks the second round of destructors */

static void at_end(void *value)
{
    if (value == &is_last || pthread_setspecific(key, &is_last))
        sf_cpu_profiler_thread_ends();
}

__attribute__((constructor(101))) static void thread_hook_at_load(void)
{
    SF_NEXT(next_create, "pthread_create");
    has_key = !pthread_key_create(&key, at_end); /* created early, so that setting it does not
                                                  * allocate */
}

/* Its last call is a tail call, so that stacks show only the program's functions. */
static void *thread_hook_begin(void *p)
{
    struct start s = *(struct start *)p;
    uintptr_t run;
    sf_heap_free(p);
    memcpy(&run, &s.run, sizeof(run));
    if (!pthread_setspecific(key, &key))
        sf_cpu_profiler_thread_begins(run);
    return s.run(s.arg);
}

SF_HOOK int pthread_create(pthread_t *restrict id, const pthread_attr_t *restrict attr,
                           void *(*run)(void *), void *restrict arg)
{
    int saved = errno, err;
    struct start *s = NULL;
    if (SF_RARELY(!next_create))
        SF_NEXT(next_create, "pthread_create");
    if (has_key && sf_cpu_profiler_is_on() && run != sf_guest_thread_begin)
        s = sf_heap_new(sizeof(*s));
    if (!s)
        return next_create(id, attr, run, arg);
    *s = (struct start){run, arg};
    errno = saved;
    err = next_create(id, attr, thread_hook_begin, s);
    if (err)
        sf_heap_free(s);
    return err;
}
