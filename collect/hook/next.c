#include "collect/hook/next.h"

#include <dlfcn.h>
#include <errno.h>

void *sf_next(const char *name)
{
    int saved = errno;
    void *p = dlsym(RTLD_NEXT, name);
    errno = saved;
    return p;
}

void *sf_next_version(const char *name, const char *version)
{
    int saved = errno;
    void *p = dlvsym(RTLD_NEXT, name, version);
    errno = saved;
    return p ? p : sf_next(name);
}
