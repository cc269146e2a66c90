/* The public functions that write profiles to files (sf_cpu_profile_start and stop,
 * sf_heap_profile_write and its start and stop), and the profile files of `spanflame record`. */
#include "collect/lib/profile_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/heap.h"
#include "collect/lib/heap_profiler.h"
#include "collect/lib/library.h"
#include "collect/lib/pprof_write.h"
#include "collect/lib/profile_sources.h"
#include "collect/send/gzip.h"

enum { PATH_CAP = SF_PROFILE_PATH_CAP };

static struct sf_lock lock; /* guards the path; no other lock is taken while it is held */
static char cpu_path[PATH_CAP];

static int told(enum sf_err err, const struct sf_why *why)
{
    if (err)
        sf_library_say(why->text);
    return err ? -1 : 0;
}

enum sf_err sf_profile_files_start(enum sf_profile_party party, unsigned kinds, struct sf_why *why)
{
    enum sf_err err;
    if (getauxval(AT_SECURE))
        return sf_fail(why, SF_ERR_DENIED, "a program with raised privileges is not profiled");
    err = sf_library_follow_forks(why);
    sf_profile_sources_set();
    if (!err)
        err = sf_profile_sources_check(kinds, why);
    return err ? err : sf_profiler_start(party, kinds, why);
}

static enum sf_err profile_file_write_file(const char *path, sf_bytes bytes, struct sf_why *why)
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

static enum sf_err profile_file_write_profile(const struct sf_profile *profile,
                                              const struct sf_profile *beside, const char *path,
                                              struct sf_why *why)
{
    struct sf_buf plain = {0}, packed = {0};
    enum sf_err err = sf_pprof_write(profile, beside, &plain, why);
    if (!err && sf_gzip(sf_buf_bytes(&plain), &packed))
        err = sf_fail(why, SF_ERR_NOMEM, "profile: no memory to compress it");
    if (!err)
        err = profile_file_write_file(path, sf_buf_bytes(&packed), why);
    sf_buf_done(&plain);
    sf_buf_done(&packed);
    return err;
}

/* Combines "dir/out.pb.gz" and "wall" to "dir/out-wall.pb.gz". */
static void profile_file_name_file(char out[PATH_CAP], const char *path, const char *word)
{
    const char *name = strrchr(path, '/'), *dot = strchr(name ? name : path, '.');
    size_t at = dot ? (size_t)(dot - path) : strlen(path);
    snprintf(out, PATH_CAP, "%.*s-%s%s", (int)at, path, word, path + at);
}

enum sf_err sf_profile_files_stop(enum sf_profile_party party, unsigned kinds, const char *path,
                                  struct sf_why *why)
{
    struct sf_profile profiles[SF_SAMPLES_KINDS] = {0};
    char named[PATH_CAP];
    bool is_first = true;
    enum sf_err err = sf_profiler_stop(party, kinds, profiles, why);
    for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++) {
        /* Allocated memory and memory in use go into one file. */
        bool is_beside = kind == SF_SAMPLES_INUSE && kinds >> SF_SAMPLES_ALLOC & 1;
        bool has_beside = kind == SF_SAMPLES_ALLOC && kinds >> SF_SAMPLES_INUSE & 1;
        if (!err && kinds >> kind & 1 && !is_beside) {
            if (!is_first)
                profile_file_name_file(
                    named, path,
                    has_beside ? "heap" : sf_sample_kind_info((enum sf_sample_kind)kind)->word);
            err = profile_file_write_profile(&profiles[kind],
                                             has_beside ? &profiles[SF_SAMPLES_INUSE] : NULL,
                                             is_first ? path : named, why);
            is_first = false;
        }
    }
    for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++)
        sf_profile_table_done(&profiles[kind].table);
    return err;
}

void sf_profile_file_path(char out[PATH_CAP], const char *file)
{
    size_t len = 0, room = strlen(file) < PATH_CAP ? strlen(file) : PATH_CAP - 1;
    if (file[0] != '/' && getcwd(out, PATH_CAP - 1))
        len = strlen(out);
    if (len && len + 1 + room < PATH_CAP)
        out[len++] = '/';
    else
        len = 0;
    memcpy(out + len, file, room);
    out[len + room] = 0;
}

int sf_cpu_profile_start(const char *file, unsigned rate_hz)
{
    struct sf_thread_state *t = &sf_thread_self;
    struct sf_why why = {0};
    enum sf_err err = SF_OK;
    int saved = errno;

    if (!file || !sf_library_enter(t))
        return -1;
    if (strlen(file) >= PATH_CAP)
        err = sf_fail(&why, SF_ERR_INPUT, "profile: the path is too long");
    else if (rate_hz > 1000)
        err = sf_fail(&why, SF_ERR_INPUT, "profile: the rate must be 1 to 1000 Hz, not %u",
                      rate_hz);
    if (!err && !sf_profiler_is_on(SF_SAMPLES_CPU)) /* a running profiler keeps its rate */
        sf_profiler_set_period(SF_SAMPLES_CPU, 1000000000 / (rate_hz ? rate_hz : SF_DEFAULT_HZ));
    if (!err)
        err = sf_profile_files_start(SF_FOR_FILE, 1u << SF_SAMPLES_CPU, &why);
    if (!err) {
        sf_lock_take(&lock);
        sf_profile_file_path(cpu_path, file);
        sf_lock_give(&lock);
    }
    sf_library_leave(t);
    errno = saved;
    return told(err, &why);
}

int sf_cpu_profile_stop(void)
{
    struct sf_thread_state *t = &sf_thread_self;
    struct sf_why why = {0};
    enum sf_err err;
    int saved = errno;

    if (!sf_library_enter(t))
        return -1;
    err = sf_profile_files_stop(SF_FOR_FILE, 1u << SF_SAMPLES_CPU, cpu_path, &why);
    sf_library_leave(t);
    errno = saved;
    return told(err, &why);
}

/* ---- the heap ---- */

int sf_heap_profile_start(size_t mean_bytes)
{
    struct sf_thread_state *t = &sf_thread_self;
    struct sf_why why = {0};
    enum sf_err err;
    int saved = errno;

    if (!sf_library_enter(t))
        return -1;
    sf_profiler_set_period(SF_SAMPLES_ALLOC, mean_bytes ? mean_bytes : SF_HEAP_MEAN);
    sf_profiler_set_period(SF_SAMPLES_INUSE, mean_bytes ? mean_bytes : SF_HEAP_MEAN);
    err = sf_profile_files_start(SF_FOR_FILE, SF_HEAP_KINDS, &why);
    if (!err)
        sf_hook_set_left(&sf_hook_self, 0); /* this thread starts sampling at once, others after at
                                             * most 64 KiB */
    sf_library_leave(t);
    errno = saved;
    return told(err, &why);
}

struct heap_file {
    const char *path;
    struct sf_why *why;
};

static enum sf_err write_heap(const struct sf_profile *profiles, void *arg)
{
    struct heap_file *heap_file = arg;
    return profile_file_write_profile(&profiles[SF_SAMPLES_ALLOC], &profiles[SF_SAMPLES_INUSE],
                                      heap_file->path, heap_file->why);
}

int sf_heap_profile_write(const char *file)
{
    struct sf_thread_state *t = &sf_thread_self;
    struct sf_why why = {0};
    struct heap_file heap_file = {file, &why};
    enum sf_err err;
    int saved = errno;

    if (!file || !sf_library_enter(t))
        return -1;
    err = sf_profiler_visit(SF_FOR_FILE, SF_HEAP_KINDS, write_heap, &heap_file, &why);
    sf_library_leave(t);
    errno = saved;
    return told(err, &why);
}

int sf_heap_profile_stop(void)
{
    struct sf_thread_state *t = &sf_thread_self;
    struct sf_profile profiles[SF_SAMPLES_KINDS] = {0};
    struct sf_why why = {0};
    enum sf_err err;
    int saved = errno;

    if (!sf_library_enter(t))
        return -1;
    err = sf_profiler_stop(SF_FOR_FILE, SF_HEAP_KINDS, profiles, &why);
    for (int kind = 0; kind < SF_SAMPLES_KINDS; kind++)
        sf_profile_table_done(&profiles[kind].table);
    sf_library_leave(t);
    errno = saved;
    return told(err, &why);
}

void sf_profile_file_after_fork(void)
{
    sf_lock_reset(&lock);
}
