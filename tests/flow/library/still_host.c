/* Linked into a program: it reads of a host that does nothing at all, so that what is decided by
 * the host's load does not depend on who else uses the machine of the test. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

int open64(const char *path, int flags, ...)
{
    int (*next)(const char *path, int flags, ...);
    void *found = dlsym(RTLD_NEXT, "open64");
    mode_t mode = 0;
    va_list more;
    va_start(more, flags);
    if (flags & (O_CREAT | O_TMPFILE))
        mode = va_arg(more, mode_t);
    va_end(more);
    memcpy(&next, &found, sizeof(next));
    if (!strcmp(path, "/proc/stat") || !strcmp(path, "/proc/pressure/cpu"))
        path = "/dev/null";
    return next(path, flags, mode);
}

int open(const char *path, int flags, ...) __attribute__((alias("open64")));
