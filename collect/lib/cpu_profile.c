/* Profiles to a file: sf_cpu_profile_start and stop. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/heap.h"
#include "collect/lib/cpu_profile.h"
#include "collect/lib/cpu_profiler.h"
#include "collect/lib/library.h"
#include "collect/lib/pprof_write.h"
#include "collect/send/gzip.h"

enum { PATH_CAP = 4096, DEFAULT_HZ = 100 };

static struct sf_lock lock; /* guards the path */
static char path[PATH_CAP];

static int told(enum sf_err err, const struct sf_why *why)
{
    if (err)
        sf_library_say(why->text);
    return err ? -1 : 0;
}

/* Where the name points now: a daemon goes elsewhere before it ends. */
static void set_path(const char *file)
{
    size_t len = 0;
    if (file[0] != '/' && getcwd(path, sizeof(path) - 1))
        len = strlen(path);
    if (len && len + 1 + strlen(file) < PATH_CAP)
        path[len++] = '/';
    else
        len = 0;
    memcpy(path + len, file, strlen(file) + 1);
}

int sf_cpu_profile_start(const char *file, unsigned rate_hz)
{
    struct sf_thread *t = &sf_thread_self;
    struct sf_why why = {0};
    enum sf_err err;
    int saved = errno;

    if (!file || !sf_library_enter(t))
        return -1;
    if (getauxval(AT_SECURE))
        err = sf_fail(&why, SF_ERR_DENIED, "a program with raised privileges is not profiled");
    else if (strlen(file) >= PATH_CAP)
        err = sf_fail(&why, SF_ERR_INPUT, "profile: the path is too long");
    else
        err = sf_library_follow_forks(&why);
    if (!err)
        err = sf_cpu_profiler_start(rate_hz ? rate_hz : DEFAULT_HZ, &why);
    if (!err) {
        sf_lock_take(&lock);
        set_path(file);
        sf_lock_give(&lock);
    }
    sf_library_leave(t);
    errno = saved;
    return told(err, &why);
}

static enum sf_err write_file(sf_bytes bytes, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return sf_fail(why, SF_ERR_IO, "%.160s: %s", path, strerror(errno));
    while (bytes.len) {
        ssize_t n = write(fd, bytes.p, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            err = sf_fail(why, SF_ERR_IO, "%.160s: %s", path, strerror(errno));
            break;
        }
        bytes = (sf_bytes){bytes.p + n, bytes.len - (size_t)n};
    }
    if (close(fd) && !err)
        err = sf_fail(why, SF_ERR_IO, "%.160s: %s", path, strerror(errno));
    return err;
}

int sf_cpu_profile_stop(void)
{
    struct sf_thread *t = &sf_thread_self;
    struct sf_cpu_profile profile = {0};
    struct sf_buf plain = {0}, packed = {0};
    struct sf_why why = {0};
    enum sf_err err;
    int saved = errno;

    if (!sf_library_enter(t))
        return -1;
    err = sf_cpu_profiler_stop(&profile, &why);
    if (!err)
        err = sf_pprof_write(&profile, &plain, &why);
    if (!err && sf_gzip(sf_buf_bytes(&plain), &packed))
        err = sf_fail(&why, SF_ERR_NOMEM, "profile: no memory to compress it");
    if (!err)
        err = write_file(sf_buf_bytes(&packed), &why);
    sf_profile_table_done(&profile.table);
    sf_buf_done(&plain);
    sf_buf_done(&packed);
    sf_library_leave(t);
    errno = saved;
    return told(err, &why);
}

void sf_cpu_profile_after_fork(void)
{
    sf_lock_reset(&lock);
    sf_cpu_profiler_after_fork();
}
