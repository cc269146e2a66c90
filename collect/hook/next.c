#include "collect/hook/next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void next_say(const char *text)
{
    if (syscall(SYS_write, 2, text, strlen(text)) < 0)
        return; /* stderr is closed: nothing to do */
}

_Noreturn void sf_next_is_missing(const char *name)
{
    next_say("spanflame: no next ");
    next_say(name);
    next_say(": libspanflame_hooks.a is linked before libc.a in a static program; use the order of "
             "pkg-config --static\n");
    abort();
}

bool sf_next_is_there(void)
{
    return sf_next("nanosleep") != NULL;
}

void *sf_next(const char *name)
{
    int saved = errno;
    void *p = dlsym(RTLD_NEXT, name);
    errno = saved;
    return p;
}

/* Of a program with the thread sanitizer, whose functions have no versions: without its
 * pthread_join() each thread would be a leak. */
extern void __tsan_init(void) __attribute__((weak));

void *sf_next_version(const char *name, const char *version)
{
    int saved = errno;
    void *p = __tsan_init ? NULL : dlvsym(RTLD_NEXT, name, version);
    errno = saved;
    return p ? p : sf_next(name);
}
