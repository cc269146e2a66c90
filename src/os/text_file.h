/* text_file.h - a small file by its path, whole: configuration, tokens, queries, request bodies. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

/* "-" is standard input. LIMIT when it is longer than `max_len`; NOT_FOUND, DENIED, IO. */
enum sf_err sf_text_file_read(const char *path, size_t max_len, struct sf_buf *out,
                              struct sf_why *why);

/* What changes when the file is written or replaced. A file that is not there has none. */
struct sf_text_stamp {
    int64_t mtime_ns;
    uint64_t inode, len;
};
struct sf_text_stamp sf_text_file_stamp(const char *path);

/* Calls `each` with the path of every file that a shell's pattern (*, ?, [...]) matches, sorted,
 * and ends at its first error. A pattern that matches nothing is fine; a name without such
 * characters is given on whether or not the file is there. LIMIT: more than `max` files; IO, NOMEM.
 */
enum sf_err sf_text_file_match(const char *pattern, size_t max,
                               enum sf_err (*each)(void *arg, const char *path, struct sf_why *why),
                               void *arg, struct sf_why *why);
