#include "os/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time_unit.h"

static enum sf_err text_file_read_all(int fd, const char *name, size_t max_len, struct sf_buf *out,
                                      struct sf_why *why)
{
    for (;;) {
        ssize_t got;
        if (!sf_buf_reserve(out, 64 * 1024))
            return sf_fail(why, SF_ERR_NOMEM, "no memory to read %s", name);
        got = read(fd, out->p + out->len, 64 * 1024);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return sf_fail(why, SF_ERR_IO, "read %s: %s", name, strerror(errno));
        if (got == 0)
            return SF_OK;
        out->len += (size_t)got;
        if (out->len > max_len)
            return sf_fail(why, SF_ERR_LIMIT, "%s is longer than %zu bytes", name, max_len);
    }
}

enum sf_err sf_text_file_read(const char *path, size_t max_len, struct sf_buf *out,
                              struct sf_why *why)
{
    enum sf_err err;
    int fd;
    if (strcmp(path, "-") == 0)
        return text_file_read_all(STDIN_FILENO, "standard input", max_len, out, why);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return sf_fail(why,
                       errno == ENOENT || errno == ENAMETOOLONG ? SF_ERR_NOT_FOUND
                       : errno == EACCES                        ? SF_ERR_DENIED
                                                                : SF_ERR_IO,
                       "open %s: %s", path, strerror(errno));
    err = text_file_read_all(fd, path, max_len, out, why);
    close(fd);
    return err;
}

struct sf_text_stamp sf_text_file_stamp(const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return (struct sf_text_stamp){0};
    return (struct sf_text_stamp){.mtime_ns = (int64_t)st.st_mtim.tv_sec * SF_NS_PER_S +
                                              st.st_mtim.tv_nsec,
                                  .inode = (uint64_t)st.st_ino,
                                  .len = (uint64_t)st.st_size};
}

enum sf_err sf_text_file_match(const char *pattern, size_t max,
                               enum sf_err (*each)(void *arg, const char *path, struct sf_why *why),
                               void *arg, struct sf_why *why)
{
    glob_t found = {0};
    enum sf_err err = SF_OK;
    int code = glob(pattern, GLOB_NOMAGIC, NULL, &found);
    if (code == GLOB_NOMATCH)
        return SF_OK;
    if (code)
        return sf_fail(why, SF_ERR_IO, "%.100s cannot be listed", pattern);
    if (found.gl_pathc > max)
        err = sf_fail(why, SF_ERR_LIMIT, "%.100s: more than %zu files", pattern, max);
    for (size_t i = 0; !err && i < found.gl_pathc; i++)
        err = each(arg, found.gl_pathv[i], why);
    globfree(&found);
    return err;
}
