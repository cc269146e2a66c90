#include "collect/sys/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include "base/heap.h"

enum { STACK_LEN = 256 * 1024 }; /* name lookups want some; PTHREAD_STACK_MIN is not enough */

struct start {
    void (*run)(void *);
    void *arg;
    const char *name;
};

static void *begin(void *p)
{
    struct start s = *(struct start *)p;
    sf_heap_free(p);
    prctl(PR_SET_NAME, s.name, 0, 0, 0);
    s.run(s.arg);
    return NULL;
}

bool sf_guest_thread_start(const char *name, void (*run)(void *), void *arg)
{
    int saved = errno;
    bool ok = false;
    pthread_attr_t attr;
    pthread_t id;
    sigset_t all, before;
    struct start *s = sf_heap_new(sizeof(*s));

    if (!s)
        return false;
    *s = (struct start){run, arg, name};
    if (!pthread_attr_init(&attr)) {
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attr, STACK_LEN);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread inherits this one */
        ok = !pthread_create(&id, &attr, begin, s);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attr);
    }
    if (!ok)
        sf_heap_free(s);
    errno = saved;
    return ok;
}
