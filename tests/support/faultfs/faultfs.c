/* faultfs.c - stands between a program and the kernel's file calls.
 *
 * The kernel is reached by system call and not by the next library's function: that works the same
 * preloaded, linked in, and under the sanitizers, which put themselves in between as well. statvfs
 * has no system call of its own and is looked up. */
#undef _FILE_OFFSET_BITS /* it renames the functions, and both names are defined here */
#undef _FORTIFY_SOURCE   /* it wraps them */

#include "support/faultfs/faultfs.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static struct faultfs_control own;
static struct faultfs_control *control = &own;
static void (*_Atomic recorder)(const struct faultfs_event *e);
static _Atomic bool records_reads;

/* --- the control block --- */

__attribute__((constructor)) static void find_control(void)
{
    const char *path = getenv("SF_FAULT_CONTROL");
    void *map;
    int fd;
    if (!path)
        return;
    fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (syscall(SYS_ftruncate, fd, (long)sizeof(own)) == 0) {
        map = mmap(NULL, sizeof(own), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (map != MAP_FAILED) {
            control = map;
            memcpy(control->magic, "SFFAULT1", 8);
        }
    }
    syscall(SYS_close, fd);
}

struct faultfs_control *faultfs_control(void)
{
    return control;
}

void faultfs_disarm(void)
{
    control->is_on = 0;
    control->calls = 0;
    control->path[0] = 0;
}

void faultfs_arm(uint32_t calls, enum faultfs_mode mode, int error, uint64_t first, uint64_t n_fail,
                 const char *path)
{
    faultfs_disarm();
    snprintf(control->path, sizeof(control->path), "%s", path);
    control->mode = mode;
    control->error = (uint32_t)error;
    control->first = first;
    control->n_fail = n_fail;
    control->n_matched = 0;
    control->n_failed = 0;
    control->calls = calls;
    control->is_on = 1;
}

void faultfs_record(void (*see)(const struct faultfs_event *e))
{
    records_reads = false;
    recorder = see;
}

void faultfs_record_reads(void (*see)(const struct faultfs_event *e))
{
    recorder = see;
    records_reads = true;
}

/* --- which file, and is it its turn --- */

static bool is_real_file(const char *path)
{
    if (strncmp(path, "/dev/shm/", 9) == 0)
        return true;
    return strncmp(path, "/dev/", 5) != 0 && strncmp(path, "/proc/", 6) != 0 &&
           strncmp(path, "/sys/", 5) != 0;
}

static bool path_of_fd(int fd, char *out, size_t cap)
{
    char link[40];
    ssize_t len;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    len = syscall(SYS_readlinkat, AT_FDCWD, link, out, cap - 1);
    if (len <= 0 || out[0] != '/')
        return false; /* "socket:[...]", "pipe:[...]" */
    out[len] = 0;
    return is_real_file(out);
}

static bool path_of_name(int dirfd, const char *name, char *out, size_t cap)
{
    size_t len = 0;
    if (name[0] != '/') {
        if (dirfd == AT_FDCWD) {
            long got = syscall(SYS_getcwd, out, cap);
            if (got <= 0)
                return false;
        } else if (!path_of_fd(dirfd, out, cap)) {
            return false;
        }
        len = strlen(out);
        if (len + 2 < cap)
            out[len++] = '/';
    }
    snprintf(out + len, cap - len, "%s", name);
    return is_real_file(out);
}

static bool is_watched(enum faultfs_call call)
{
    return (control->calls & (uint32_t)call) != 0;
}

static bool is_turn(const char *path)
{
    uint64_t n, first = control->first, n_fail = control->n_fail;
    if (control->path[0] && !strstr(path, control->path))
        return false;
    n = ++control->n_matched;
    if (!control->is_on || n < first || (n_fail && n - first >= n_fail))
        return false;
    control->n_failed++;
    return true;
}

static bool is_turn_fd(enum faultfs_call call, int fd)
{
    char path[1024];
    return is_watched(call) && path_of_fd(fd, path, sizeof(path)) && is_turn(path);
}

static bool is_turn_name(enum faultfs_call call, int dirfd, const char *name)
{
    char path[1024];
    return is_watched(call) && path_of_name(dirfd, name, path, sizeof(path)) && is_turn(path);
}

/* For calls without bytes: true when errno is set and the call must not happen. */
static bool has_failed(bool is_turn_now)
{
    if (!is_turn_now || control->mode == FAULTFS_SHORT)
        return false;
    if (control->mode == FAULTFS_KILL)
        syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    errno = (int)control->error;
    return true;
}

/* --- recording --- */

static void record_fd(enum faultfs_call call, int fd, uint64_t off, const void *bytes, size_t len)
{
    void (*see)(const struct faultfs_event *e) = recorder;
    struct faultfs_event e = {.call = call, .off = off, .bytes = bytes, .len = len};
    char path[1024];
    int saved = errno;
    if (see && path_of_fd(fd, path, sizeof(path))) {
        e.path = path;
        see(&e);
    }
    errno = saved;
}

static void record_name(enum faultfs_call call, int dirfd, const char *name, int to_dirfd,
                        const char *to)
{
    void (*see)(const struct faultfs_event *e) = recorder;
    struct faultfs_event e = {.call = call};
    char path[1024], to_path[1024];
    int saved = errno;
    if (see && path_of_name(dirfd, name, path, sizeof(path))) {
        e.path = path;
        if (to && path_of_name(to_dirfd, to, to_path, sizeof(to_path)))
            e.to = to_path;
        see(&e);
    }
    errno = saved;
}

/* --- writes and reads --- */

enum { MAX_PIECES = 1024 };

static ssize_t vector_call(long number, int fd, const struct iovec *v, int n, int64_t off)
{
    if (off < 0)
        return syscall(number == SYS_pwritev ? SYS_writev : SYS_readv, fd, v, n);
    return syscall(number, fd, v, n, (long)off, 0L);
}

/* The first half of the bytes, at least one. */
static ssize_t half_call(long number, int fd, const struct iovec *v, int n, int64_t off)
{
    struct iovec some[MAX_PIECES];
    size_t all = 0, half;
    int n_some = 0;
    for (int i = 0; i < n && i < MAX_PIECES; i++)
        all += v[i].iov_len;
    half = all / 2 ? all / 2 : all;
    for (int i = 0; i < n && i < MAX_PIECES && half; i++) {
        some[n_some] = v[i];
        if (some[n_some].iov_len > half)
            some[n_some].iov_len = half;
        half -= some[n_some++].iov_len;
    }
    return vector_call(number, fd, some, n_some, off);
}

static ssize_t do_write(int fd, const struct iovec *v, int n, int64_t off)
{
    ssize_t put, left;
    if (is_turn_fd(FAULTFS_WRITE, fd)) {
        uint32_t mode = control->mode;
        if (mode == FAULTFS_SHORT || mode == FAULTFS_TORN || mode == FAULTFS_KILL) {
            put = half_call(SYS_pwritev, fd, v, n, off);
            if (mode == FAULTFS_KILL)
                syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
            if (mode == FAULTFS_SHORT)
                return put;
        }
        errno = (int)control->error;
        return -1;
    }
    put = vector_call(SYS_pwritev, fd, v, n, off);
    left = put;
    for (int i = 0; i < n && left > 0 && off >= 0 && recorder; i++) {
        size_t some = v[i].iov_len < (size_t)left ? v[i].iov_len : (size_t)left;
        record_fd(FAULTFS_WRITE, fd, (uint64_t)off, v[i].iov_base, some);
        off += (int64_t)some;
        left -= (ssize_t)some;
    }
    return put;
}

static ssize_t do_read(int fd, const struct iovec *v, int n, int64_t off)
{
    if (is_turn_fd(FAULTFS_READ, fd)) {
        if (control->mode == FAULTFS_SHORT)
            return half_call(SYS_preadv, fd, v, n, off);
        (void)has_failed(true);
        return -1;
    }
    ssize_t got = vector_call(SYS_preadv, fd, v, n, off);
    if (got > 0 && records_reads)
        record_fd(FAULTFS_READ, fd, off < 0 ? 0 : (uint64_t)off, NULL, (size_t)got);
    return got;
}

#define ONE(p, len) (&(struct iovec){(void *)(uintptr_t)(p), (len)})

ssize_t write(int fd, const void *p, size_t len)
{
    return do_write(fd, ONE(p, len), 1, -1);
}
ssize_t pwrite(int fd, const void *p, size_t len, off_t off)
{
    return do_write(fd, ONE(p, len), 1, off);
}
ssize_t pwrite64(int fd, const void *p, size_t len, off64_t off)
{
    return do_write(fd, ONE(p, len), 1, off);
}
ssize_t writev(int fd, const struct iovec *v, int n)
{
    return do_write(fd, v, n, -1);
}
ssize_t pwritev(int fd, const struct iovec *v, int n, off_t off)
{
    return do_write(fd, v, n, off);
}
ssize_t pwritev64(int fd, const struct iovec *v, int n, off64_t off)
{
    return do_write(fd, v, n, off);
}
ssize_t read(int fd, void *p, size_t len)
{
    return do_read(fd, ONE(p, len), 1, -1);
}
ssize_t pread(int fd, void *p, size_t len, off_t off)
{
    return do_read(fd, ONE(p, len), 1, off);
}
ssize_t pread64(int fd, void *p, size_t len, off64_t off)
{
    return do_read(fd, ONE(p, len), 1, off);
}
ssize_t readv(int fd, const struct iovec *v, int n)
{
    return do_read(fd, v, n, -1);
}
ssize_t preadv(int fd, const struct iovec *v, int n, off_t off)
{
    return do_read(fd, v, n, off);
}
ssize_t preadv64(int fd, const struct iovec *v, int n, off64_t off)
{
    return do_read(fd, v, n, off);
}
/* What fortified programs call. */
ssize_t __read_chk(int fd, void *p, size_t len, size_t cap);
ssize_t __read_chk(int fd, void *p, size_t len, size_t cap)
{
    return len > cap ? (abort(), -1) : do_read(fd, ONE(p, len), 1, -1);
}
ssize_t __pread_chk(int fd, void *p, size_t len, off_t off, size_t cap);
ssize_t __pread_chk(int fd, void *p, size_t len, off_t off, size_t cap)
{
    return len > cap ? (abort(), -1) : do_read(fd, ONE(p, len), 1, off);
}
ssize_t __pread64_chk(int fd, void *p, size_t len, off64_t off, size_t cap);
ssize_t __pread64_chk(int fd, void *p, size_t len, off64_t off, size_t cap)
{
    return len > cap ? (abort(), -1) : do_read(fd, ONE(p, len), 1, off);
}

/* --- syncs --- */

static bool is_path_of(int fd)
{
    char path[1024];
    return !control->path[0] ||
           (path_of_fd(fd, path, sizeof(path)) && strstr(path, control->path) != NULL);
}

static int do_sync(long number, int fd)
{
    long result;
    if (has_failed(is_turn_fd(FAULTFS_SYNC, fd)))
        return -1;
    if (control->delay_us && is_watched(FAULTFS_SYNC) && is_path_of(fd)) {
        struct timespec t = {.tv_sec = control->delay_us / 1000000,
                             .tv_nsec = (long)(control->delay_us % 1000000) * 1000};
        syscall(SYS_nanosleep, &t, NULL);
    }
    result = syscall(number, fd);
    if (result == 0 && recorder)
        record_fd(FAULTFS_SYNC, fd, 0, NULL, 0);
    return (int)result;
}

int fsync(int fd)
{
    return do_sync(SYS_fsync, fd);
}
int fdatasync(int fd)
{
    return do_sync(SYS_fdatasync, fd);
}

/* --- names --- */

static int do_open(int dirfd, const char *name, int flags, mode_t mode)
{
    int fd;
    if (has_failed(is_turn_name(FAULTFS_OPEN, dirfd, name)))
        return -1;
    fd = (int)syscall(SYS_openat, dirfd, name, flags, mode);
    if (fd >= 0 && flags & O_CREAT && recorder)
        record_name(FAULTFS_OPEN, dirfd, name, 0, NULL);
    if (fd >= 0 && flags & O_TRUNC && recorder)
        record_fd(FAULTFS_TRUNCATE, fd, 0, NULL, 0);
    return fd;
}

static mode_t mode_from(int flags, va_list args)
{
    return flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) ? va_arg(args, mode_t) : 0;
}

#define OPEN_LIKE(function, first_parameters, dirfd) \
    int function first_parameters                    \
    {                                                \
        va_list args;                                \
        mode_t mode;                                 \
        va_start(args, flags);                       \
        mode = mode_from(flags, args);               \
        va_end(args);                                \
        return do_open(dirfd, name, flags, mode);    \
    }
OPEN_LIKE(open, (const char *name, int flags, ...), AT_FDCWD)
OPEN_LIKE(open64, (const char *name, int flags, ...), AT_FDCWD)
OPEN_LIKE(openat, (int dirfd, const char *name, int flags, ...), dirfd)
OPEN_LIKE(openat64, (int dirfd, const char *name, int flags, ...), dirfd)

int __open_2(const char *name, int flags);
int __open_2(const char *name, int flags)
{
    return do_open(AT_FDCWD, name, flags, 0);
}
int __open64_2(const char *name, int flags);
int __open64_2(const char *name, int flags)
{
    return do_open(AT_FDCWD, name, flags, 0);
}
int __openat_2(int dirfd, const char *name, int flags);
int __openat_2(int dirfd, const char *name, int flags)
{
    return do_open(dirfd, name, flags, 0);
}
int __openat64_2(int dirfd, const char *name, int flags);
int __openat64_2(int dirfd, const char *name, int flags)
{
    return do_open(dirfd, name, flags, 0);
}

static int do_rename(int from_dirfd, const char *from, int to_dirfd, const char *to, unsigned flags)
{
    long result;
    if (has_failed(is_turn_name(FAULTFS_RENAME, from_dirfd, from)))
        return -1;
    result = syscall(SYS_renameat2, from_dirfd, from, to_dirfd, to, flags);
    if (result == 0 && recorder)
        record_name(FAULTFS_RENAME, from_dirfd, from, to_dirfd, to);
    return (int)result;
}

int rename(const char *from, const char *to)
{
    return do_rename(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat(int from_dirfd, const char *from, int to_dirfd, const char *to)
{
    return do_rename(from_dirfd, from, to_dirfd, to, 0);
}
int renameat2(int from_dirfd, const char *from, int to_dirfd, const char *to, unsigned flags)
{
    return do_rename(from_dirfd, from, to_dirfd, to, flags);
}

static int do_unlink(int dirfd, const char *name, int flags)
{
    long result;
    if (has_failed(is_turn_name(FAULTFS_UNLINK, dirfd, name)))
        return -1;
    result = syscall(SYS_unlinkat, dirfd, name, flags);
    if (result == 0 && recorder)
        record_name(FAULTFS_UNLINK, dirfd, name, 0, NULL);
    return (int)result;
}

int unlink(const char *name)
{
    return do_unlink(AT_FDCWD, name, 0);
}
int unlinkat(int dirfd, const char *name, int flags)
{
    return do_unlink(dirfd, name, flags);
}
int rmdir(const char *name)
{
    return do_unlink(AT_FDCWD, name, AT_REMOVEDIR);
}

int mkdirat(int dirfd, const char *name, mode_t mode)
{
    if (has_failed(is_turn_name(FAULTFS_MKDIR, dirfd, name)))
        return -1;
    return (int)syscall(SYS_mkdirat, dirfd, name, mode);
}
int mkdir(const char *name, mode_t mode)
{
    return mkdirat(AT_FDCWD, name, mode);
}

/* --- lengths and space --- */

static int do_truncate(int fd, off64_t len)
{
    long result;
    if (has_failed(is_turn_fd(FAULTFS_TRUNCATE, fd)))
        return -1;
    result = syscall(SYS_ftruncate, fd, (long)len);
    if (result == 0 && recorder)
        record_fd(FAULTFS_TRUNCATE, fd, (uint64_t)len, NULL, 0);
    return (int)result;
}

int ftruncate(int fd, off_t len)
{
    return do_truncate(fd, len);
}
int ftruncate64(int fd, off64_t len)
{
    return do_truncate(fd, len);
}

static int do_allocate(int fd, int mode, off64_t off, off64_t len)
{
    if (has_failed(is_turn_fd(FAULTFS_ALLOCATE, fd)))
        return -1;
    return (int)syscall(SYS_fallocate, fd, mode, (long)off, (long)len);
}

int fallocate(int fd, int mode, off_t off, off_t len)
{
    return do_allocate(fd, mode, off, len);
}
int fallocate64(int fd, int mode, off64_t off, off64_t len)
{
    return do_allocate(fd, mode, off, len);
}
int posix_fallocate(int fd, off_t off, off_t len)
{
    return do_allocate(fd, 0, off, len) == 0 ? 0 : errno;
}
int posix_fallocate64(int fd, off64_t off, off64_t len)
{
    return do_allocate(fd, 0, off, len) == 0 ? 0 : errno;
}

static void lie_about_space(struct statvfs *out)
{
    uint64_t free_plus_1 = control->free_plus_1;
    if (free_plus_1 && out->f_frsize)
        out->f_bavail = out->f_bfree = (free_plus_1 - 1) / out->f_frsize;
}

int fstatvfs(int fd, struct statvfs *out)
{
    int (*real)(int, struct statvfs *) = (int (*)(int, struct statvfs *))dlsym(RTLD_NEXT,
                                                                               "fstatvfs");
    int result;
    if (has_failed(is_turn_fd(FAULTFS_STATVFS, fd)))
        return -1;
    result = real(fd, out);
    if (result == 0)
        lie_about_space(out);
    return result;
}
int fstatvfs64(int fd, struct statvfs64 *out)
{
    return fstatvfs(fd, (struct statvfs *)out); /* one layout on 64-bit machines */
}
int statvfs(const char *name, struct statvfs *out)
{
    int (*real)(const char *, struct statvfs *) = (int (*)(const char *, struct statvfs *))dlsym(
        RTLD_NEXT, "statvfs");
    int result;
    if (has_failed(is_turn_name(FAULTFS_STATVFS, AT_FDCWD, name)))
        return -1;
    result = real(name, out);
    if (result == 0)
        lie_about_space(out);
    return result;
}
int statvfs64(const char *name, struct statvfs64 *out)
{
    return statvfs(name, (struct statvfs *)out);
}

/* --- the clock --- */

int clock_gettime(clockid_t id, struct timespec *out)
{
    static int (*_Atomic cached)(clockid_t, struct timespec *);
    int (*real)(clockid_t, struct timespec *) = cached;
    int64_t offset_ns = control->clock_ns, ns;
    int result;
    if (!real) {
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
        cached = real;
    }
    result = real ? real(id, out) : (int)syscall(SYS_clock_gettime, id, out);
    if (result != 0 || !offset_ns || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
        return result;
    ns = (int64_t)out->tv_sec * 1000000000 + out->tv_nsec + offset_ns;
    out->tv_sec = ns / 1000000000;
    out->tv_nsec = ns % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec t;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &t) != 0)
        return -1;
    out->tv_sec = t.tv_sec;
    out->tv_usec = t.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out)
{
    struct timespec t = {0};
    (void)clock_gettime(CLOCK_REALTIME, &t);
    if (out)
        *out = t.tv_sec;
    return t.tv_sec;
}
