/* dir.c - every name is resolved from the directory's descriptor. The functions that open, create
 * or list first examine each part of the name with fstatat(): the data directory belongs to one
 * user, so this finds what an operator or a restored copy put there, not a race against an
 * attacker. */
#include "os/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/time_unit.h"

struct sf_dir {
    int fd;
    char path[]; /* terminated */
};

static enum sf_err dir_fail_errno(struct sf_why *why, const char *doing, const char *name)
{
    int code = errno;
    enum sf_err err = code == ENOENT                     ? SF_ERR_NOT_FOUND
                      : code == ENOSPC || code == EDQUOT ? SF_ERR_FULL
                      : code == EACCES || code == EPERM  ? SF_ERR_DENIED
                                                         : SF_ERR_IO;
    return sf_fail(why, err, "%s %s: %s", doing, name, strerror(code));
}

static enum sf_err dir_make_path(const char *path, struct sf_why *why)
{
    char part[4096];
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof(part))
        return sf_fail(why, SF_ERR_INPUT, "directory name of %zu bytes", len);
    memcpy(part, path, len + 1);
    for (size_t i = 1; i <= len; i++) {
        if (part[i] != '/' && part[i] != 0)
            continue;
        part[i] = 0;
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return dir_fail_errno(why, "make directory", part);
        part[i] = path[i];
    }
    return SF_OK;
}

enum sf_err sf_dir_open(const char *path, enum sf_dir_mode mode, struct sf_dir **out,
                        struct sf_why *why)
{
    size_t len = strlen(path);
    struct sf_dir *d;
    if (mode == SF_DIR_CREATE) {
        enum sf_err err = dir_make_path(path, why);
        if (err)
            return err;
    }
    d = sf_heap_new(sizeof(*d) + len + 1);
    if (!d)
        return sf_fail(why, SF_ERR_NOMEM, "no memory to open %s", path);
    memcpy(d->path, path, len + 1);
    d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->fd < 0) {
        sf_heap_free(d);
        return dir_fail_errno(why, "open directory", path);
    }
    *out = d;
    return SF_OK;
}

void sf_dir_close(struct sf_dir *d)
{
    if (!d)
        return;
    close(d->fd);
    sf_heap_free(d);
}

const char *sf_dir_path(const struct sf_dir *d)
{
    return d->path;
}

static enum sf_err refuse_link(struct sf_dir *d, const char *name, struct sf_why *why)
{
    struct stat st;
    if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
        return sf_fail(why, SF_ERR_IO, "%s is a symbolic link, not a directory", name);
    return SF_OK;
}

/* The directories that lead to `name`. */
static enum sf_err refuse_links_above(struct sf_dir *d, const char *name, struct sf_why *why)
{
    char part[256];
    enum sf_err err = SF_OK;
    for (const char *slash = strchr(name, '/'); !err && slash; slash = strchr(slash + 1, '/')) {
        size_t len = (size_t)(slash - name);
        if (len >= sizeof(part))
            break; /* the names below a data directory are shorter */
        memcpy(part, name, len);
        part[len] = 0;
        err = refuse_link(d, part, why);
    }
    return err;
}

static enum sf_err refuse_links(struct sf_dir *d, const char *name, struct sf_why *why)
{
    enum sf_err err = refuse_links_above(d, name, why);
    return err ? err : refuse_link(d, name, why);
}

enum sf_err sf_dir_check(struct sf_dir *d, const char *name, bool is_dir, struct sf_why *why)
{
    struct stat st;
    enum sf_err err = refuse_links_above(d, name, why);
    if (err)
        return err;
    if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return dir_fail_errno(why, "look at", name);
    if (is_dir ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode))
        return SF_OK;
    return sf_fail(why, SF_ERR_IO, "%s is %s, not a %s", name,
                   S_ISLNK(st.st_mode)   ? "a symbolic link"
                   : S_ISREG(st.st_mode) ? "a file"
                   : S_ISDIR(st.st_mode) ? "a directory"
                                         : "a pipe, socket or device",
                   is_dir ? "directory" : "regular file");
}

/* Only regular files are opened, and no link to a directory is followed: a symbolic link may lead
 * out of the directory, where the sandboxed server may not read and other programs may, and opening
 * a FIFO would wait for its other end. */
static enum sf_err open_flags(struct sf_dir *d, const char *name, int flags, struct sf_file *out,
                              struct sf_why *why)
{
    struct stat st;
    enum sf_err err = refuse_links_above(d, name, why);
    if (err)
        return err;
    int fd = openat(d->fd, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0 && (errno == ELOOP || errno == ENXIO))
        return sf_fail(why, SF_ERR_IO, "open %s: it is not a regular file", name);
    if (fd < 0)
        return dir_fail_errno(why, "open", name);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return sf_fail(why, SF_ERR_IO, "open %s: it is not a regular file", name);
    }
    out->fd_plus_1 = fd + 1;
    return SF_OK;
}

enum sf_err sf_dir_open_read(struct sf_dir *d, const char *name, struct sf_file *out,
                             struct sf_why *why)
{
    return open_flags(d, name, O_RDONLY, out, why);
}

enum sf_err sf_dir_open_write(struct sf_dir *d, const char *name, struct sf_file *out,
                              struct sf_why *why)
{
    return open_flags(d, name, O_RDWR, out, why);
}

enum sf_err sf_dir_create(struct sf_dir *d, const char *name, struct sf_file *out,
                          struct sf_why *why)
{
    return open_flags(d, name, O_RDWR | O_CREAT | O_TRUNC, out, why);
}

enum sf_err sf_dir_open_append(struct sf_dir *d, const char *name, struct sf_file *out,
                               struct sf_why *why)
{
    return open_flags(d, name, O_RDWR | O_CREAT, out, why);
}

enum sf_err sf_dir_make(struct sf_dir *d, const char *name, struct sf_why *why)
{
    enum sf_err err = refuse_links_above(d, name, why);
    if (err || mkdirat(d->fd, name, 0700) == 0)
        return err;
    return errno == EEXIST ? sf_dir_check(d, name, true, why)
                           : dir_fail_errno(why, "make directory", name);
}

enum sf_err sf_dir_sync(struct sf_dir *d, const char *name, struct sf_why *why)
{
    enum sf_err err = refuse_links(d, name, why);
    if (err)
        return err;
    int fd = openat(d->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return dir_fail_errno(why, "open directory", name);
    if (fsync(fd) != 0)
        err = dir_fail_errno(why, "sync directory", name);
    close(fd);
    return err;
}

enum sf_err sf_dir_rename(struct sf_dir *d, const char *from, const char *to, struct sf_why *why)
{
    return renameat(d->fd, from, d->fd, to) == 0 ? SF_OK : dir_fail_errno(why, "rename", from);
}

enum sf_err sf_dir_link(struct sf_dir *d, const char *from, const char *to, struct sf_why *why)
{
    if (linkat(d->fd, from, d->fd, to, 0) == 0 || errno == EEXIST)
        return SF_OK;
    if (errno == EPERM || errno == EOPNOTSUPP || errno == EMLINK)
        return sf_fail(why, SF_ERR_UNSUPPORTED, "%.120s: this file system does not make hard links",
                       from);
    return dir_fail_errno(why, "link", from);
}

enum sf_err sf_dir_replace(struct sf_dir *d, const char *name, sf_bytes bytes, struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    char temporary[256];
    enum sf_err err;
    if ((size_t)snprintf(temporary, sizeof(temporary), "%s.new", name) >= sizeof(temporary))
        return sf_fail(why, SF_ERR_INPUT, "%.80s: too long a name", name);
    err = sf_dir_create(d, temporary, &file, why);
    if (!err && bytes.len)
        err = sf_file_write_at(&file, 0, bytes.p, bytes.len, why);
    if (!err)
        err = sf_file_sync(&file, why);
    sf_file_close(&file);
    if (!err)
        err = sf_dir_rename(d, temporary, name, why);
    return err ? err : sf_dir_sync(d, ".", why);
}

enum sf_err sf_dir_unlink(struct sf_dir *d, const char *name, struct sf_why *why)
{
    if (unlinkat(d->fd, name, 0) != 0 && errno != ENOENT)
        return dir_fail_errno(why, "delete", name);
    return SF_OK;
}

enum sf_err sf_dir_remove(struct sf_dir *d, const char *name, struct sf_why *why)
{
    if (unlinkat(d->fd, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
        return dir_fail_errno(why, "remove directory", name);
    return SF_OK;
}

bool sf_dir_exists(struct sf_dir *d, const char *name)
{
    return faccessat(d->fd, name, F_OK, 0) == 0;
}

enum sf_err sf_dir_stat(struct sf_dir *d, const char *name, uint64_t *out_len, int64_t *out_ns,
                        struct sf_why *why)
{
    struct stat st;
    if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return dir_fail_errno(why, "look at", name);
    *out_len = (uint64_t)st.st_size;
    *out_ns = (int64_t)st.st_mtim.tv_sec * SF_NS_PER_S + st.st_mtim.tv_nsec;
    return SF_OK;
}

void sf_dir_touch(struct sf_dir *d, const char *name)
{
    (void)utimensat(d->fd, name, NULL, AT_SYMLINK_NOFOLLOW);
}

enum sf_err sf_dir_list(struct sf_dir *d, const char *name,
                        bool (*see)(void *arg, const char *entry, bool is_dir), void *arg,
                        struct sf_why *why)
{
    struct dirent *e;
    DIR *list;
    enum sf_err err = refuse_links(d, name, why);
    if (err)
        return err;
    int fd = openat(d->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return dir_fail_errno(why, "list", name);
    list = fdopendir(fd);
    if (!list) {
        close(fd);
        return dir_fail_errno(why, "list", name);
    }
    while ((e = readdir(list))) {
        bool is_dir = e->d_type == DT_DIR;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (e->d_type == DT_UNKNOWN) {
            struct stat st;
            is_dir = fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
        }
        if (!see(arg, e->d_name, is_dir))
            break;
    }
    closedir(list);
    return SF_OK;
}

enum sf_err sf_dir_free_len(struct sf_dir *d, uint64_t *out_free, uint64_t *out_all,
                            struct sf_why *why)
{
    struct statvfs st;
    if (fstatvfs(d->fd, &st) != 0)
        return dir_fail_errno(why, "ask free space of", d->path);
    *out_free = (uint64_t)st.f_bavail * st.f_frsize;
    *out_all = (uint64_t)st.f_blocks * st.f_frsize;
    return SF_OK;
}

enum sf_err sf_dir_make_temporary(const char *prefix, char *path, size_t path_len,
                                  struct sf_why *why)
{
    const char *below = getenv("TMPDIR");
    int len = snprintf(path, path_len, "%s/%s.XXXXXX", below && *below ? below : "/tmp", prefix);
    if (len < 0 || (size_t)len >= path_len)
        return sf_fail(why, SF_ERR_INPUT, "the name of the temporary directory is too long");
    if (!mkdtemp(path))
        return dir_fail_errno(why, "make directory", path);
    return SF_OK;
}

static int dir_delete_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

const char *sf_dir_full_path(const char *path, char full[SF_DIR_PATH_MAX])
{
    return realpath(path, full) ? full : path;
}

enum sf_err sf_dir_delete_tree(const char *path, struct sf_why *why)
{
    if (nftw(path, dir_delete_one, 16, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
        return dir_fail_errno(why, "delete", path);
    return SF_OK;
}
