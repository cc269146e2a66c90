#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/num.h"

static int fd_of(const struct sf_file *f)
{
    return f->fd_plus_1 - 1;
}

static enum sf_err file_fail_errno(struct sf_why *why, const char *doing)
{
    int code = errno;
    enum sf_err err = code == ENOSPC || code == EDQUOT ? SF_ERR_FULL : SF_ERR_IO;
    return sf_fail(why, err, "%s: %s", doing, strerror(code));
}

bool sf_file_is_open(const struct sf_file *f)
{
    return f->fd_plus_1 != 0;
}

void sf_file_close(struct sf_file *f)
{
    if (f->fd_plus_1)
        close(fd_of(f));
    *f = SF_FILE_NONE;
}

struct sf_file sf_file_take(struct sf_file *f)
{
    struct sf_file taken = *f;
    *f = SF_FILE_NONE;
    return taken;
}

enum sf_err sf_file_read_some(const struct sf_file *f, uint64_t off, void *p, size_t len,
                              size_t *out_len, struct sf_why *why)
{
    size_t done = 0;
    while (done < len) {
        ssize_t got = pread(fd_of(f), (uint8_t *)p + done, len - done, (off_t)(off + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return file_fail_errno(why, "read");
        if (got == 0)
            break;
        done += (size_t)got;
    }
    *out_len = done;
    return SF_OK;
}

enum sf_err sf_file_read_at(const struct sf_file *f, uint64_t off, void *p, size_t len,
                            struct sf_why *why)
{
    size_t got = 0;
    enum sf_err err = sf_file_read_some(f, off, p, len, &got, why);
    if (err)
        return err;
    if (got < len)
        return sf_fail(why, SF_ERR_CORRUPT, "file ends at byte %llu, %zu more were expected",
                       (unsigned long long)(off + got), len - got);
    return SF_OK;
}

enum sf_err sf_file_write_at(const struct sf_file *f, uint64_t off, const void *p, size_t len,
                             struct sf_why *why)
{
    struct sf_iov one = {p, len};
    return sf_file_writev_at(f, off, &one, 1, why);
}

enum sf_err sf_file_writev_at(const struct sf_file *f, uint64_t off, const struct sf_iov *v,
                              size_t n, struct sf_why *why)
{
    size_t skip = 0; /* bytes of v[0] already written */
    while (n) {
        struct iovec some[64];
        size_t n_some = n < 64 ? n : 64;
        ssize_t put;
        for (size_t i = 0; i < n_some; i++)
            some[i] = (struct iovec){(void *)(uintptr_t)v[i].p, v[i].len};
        some[0].iov_base = (uint8_t *)some[0].iov_base + skip;
        some[0].iov_len -= skip;
        put = pwritev(fd_of(f), some, sf_int(n_some), (off_t)off);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return file_fail_errno(why, "write");
        off += (uint64_t)put;
        skip += (size_t)put;
        while (n && skip >= v->len) {
            skip -= v->len;
            v++;
            n--;
        }
    }
    return SF_OK;
}

bool sf_file_set_direct(const struct sf_file *f, bool is_direct)
{
    int flags = fcntl(fd_of(f), F_GETFL);
    if (flags < 0)
        return false;
    flags = is_direct ? flags | O_DIRECT : flags & ~O_DIRECT;
    return fcntl(fd_of(f), F_SETFL, flags) == 0;
}

enum sf_err sf_file_sync(const struct sf_file *f, struct sf_why *why)
{
    return fdatasync(fd_of(f)) == 0 ? SF_OK : file_fail_errno(why, "sync");
}

enum sf_err sf_file_len(const struct sf_file *f, uint64_t *out, struct sf_why *why)
{
    struct stat st;
    if (fstat(fd_of(f), &st) != 0)
        return file_fail_errno(why, "stat");
    *out = (uint64_t)st.st_size;
    return SF_OK;
}

enum sf_err sf_file_truncate(const struct sf_file *f, uint64_t len, struct sf_why *why)
{
    return ftruncate(fd_of(f), (off_t)len) == 0 ? SF_OK : file_fail_errno(why, "truncate");
}

enum sf_err sf_file_lock(const struct sf_file *f, struct sf_why *why)
{
    if (flock(fd_of(f), LOCK_EX | LOCK_NB) == 0)
        return SF_OK;
    if (errno == EWOULDBLOCK)
        return sf_fail(why, SF_ERR_BUSY, "another process holds the lock");
    return file_fail_errno(why, "lock");
}

enum sf_err sf_file_open_path(const char *path, struct sf_file *out, struct sf_why *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        enum sf_err err = errno == ENOENT || errno == ENAMETOOLONG ? SF_ERR_NOT_FOUND
                          : errno == EACCES || errno == EPERM      ? SF_ERR_DENIED
                                                                   : SF_ERR_IO;
        return sf_fail(why, err, "cannot open %s: %s", path, strerror(errno));
    }
    *out = (struct sf_file){fd + 1};
    return SF_OK;
}

enum sf_err sf_file_open_regular(const char *path, struct sf_file *out, struct sf_why *why)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return sf_fail(why, errno == ENOENT || errno == ENOTDIR ? SF_ERR_NOT_FOUND : SF_ERR_IO,
                       "%s: %s", path, strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return sf_fail(why, SF_ERR_INPUT, "%s is not a regular file", path);
    }
    out->fd_plus_1 = fd + 1;
    return SF_OK;
}

/* Opens each name of the path separately, so that none is a link or leads upwards. */
static int open_beneath(const char *folder, const char *path)
{
    char name[NAME_MAX + 1];
    int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    while (dir >= 0) {
        size_t len = strcspn(path, "/");
        bool is_last = path[len] == 0;
        if (len == 0 || len > NAME_MAX || path[0] == '.') {
            close(dir);
            errno = EINVAL;
            return -1;
        }
        memcpy(name, path, len);
        name[len] = 0;
        int flags = is_last ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_PATH | O_DIRECTORY;
        int next = openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC);
        int code = errno;
        close(dir);
        errno = code;
        if (is_last)
            return next;
        dir = next;
        path += len + 1;
    }
    return -1;
}

enum sf_err sf_file_open_beneath(const char *folder, const char *path, struct sf_file *out,
                                 struct sf_why *why)
{
    struct stat st;
    int fd = open_beneath(folder, path);
    if (fd < 0)
        return sf_fail(why, errno == ENOENT || errno == ENOTDIR ? SF_ERR_NOT_FOUND : SF_ERR_IO,
                       "%s: %s", path, strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return sf_fail(why, SF_ERR_INPUT, "%s is not a regular file", path);
    }
    out->fd_plus_1 = fd + 1;
    return SF_OK;
}

enum sf_err sf_file_make_private(const char *path, struct sf_why *why)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct stat st;
    if (fd < 0)
        return sf_fail(why, SF_ERR_IO, "cannot open %s: %s", path, strerror(errno));
    bool is_private = fstat(fd, &st) == 0 && ((st.st_mode & 0777) == 0600 || fchmod(fd, 0600) == 0);
    int code = errno;
    close(fd);
    return is_private
               ? SF_OK
               : sf_fail(why, SF_ERR_IO, "cannot set the mode of %s: %s", path, strerror(code));
}

enum sf_err sf_file_read_all(const struct sf_file *f, size_t max_len, struct sf_buf *out,
                             struct sf_why *why)
{
    size_t all_len = 0;
    for (;;) {
        ssize_t got;
        if (!sf_buf_reserve(out, 65536))
            return sf_fail(why, out->err, "no memory for a file of %zu bytes or more", all_len);
        got = read(fd_of(f), out->p + out->len, 65536);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return file_fail_errno(why, "read");
        if (got == 0)
            return SF_OK;
        out->len += (size_t)got;
        all_len += (size_t)got;
        if (all_len > max_len)
            return sf_fail(why, SF_ERR_LIMIT, "longer than %zu bytes", max_len);
    }
}

bool sf_file_is_shared(const struct sf_file *f)
{
    struct stat st;
    return fstat(fd_of(f), &st) == 0 && (st.st_mode & (S_IRGRP | S_IROTH)) != 0;
}

enum sf_err sf_file_memory(const char *name, struct sf_file *out, char *path, size_t path_len,
                           struct sf_why *why)
{
    int fd = memfd_create(name, MFD_CLOEXEC);

    if (fd < 0)
        return sf_fail(why, SF_ERR_NOMEM, "cannot make a file in memory: %s", strerror(errno));
    (void)snprintf(path, path_len, "/proc/self/fd/%d", fd);
    out->fd_plus_1 = fd + 1;
    return SF_OK;
}

enum sf_err sf_file_temp(const char *dir_path, struct sf_file *out, struct sf_why *why)
{
    char name[4096];
    int fd = open(dir_path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    int len;

    /* Some file systems do not support unnamed files; then a named one is unlinked at once. */
    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
        len = snprintf(name, sizeof(name), "%s/spool-XXXXXX", dir_path);
        if (len < 0 || (size_t)len >= sizeof(name))
            return sf_fail(why, SF_ERR_IO, "the name of the spool folder is too long");
        fd = mkostemp(name, O_CLOEXEC);
        if (fd >= 0)
            (void)unlink(name);
    }
    if (fd < 0) {
        int code = errno;
        return sf_fail(why, code == ENOSPC || code == EDQUOT ? SF_ERR_FULL : SF_ERR_IO,
                       "cannot make a temporary file in %s: %s", dir_path, strerror(code));
    }
    out->fd_plus_1 = fd + 1;
    return SF_OK;
}
