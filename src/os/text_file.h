/* text_file.h - reads a small file completely: configuration, tokens, queries, request bodies. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

/* "-" is standard input. LIMIT when it is longer than `max_len`; NOT_FOUND, DENIED, IO. */
enum sf_err sf_text_file_read(const char *path, size_t max_len, struct sf_buf *out,
                              struct sf_why *why);

/* Identifies a version of a file: changes when it is written or replaced. Zero for a missing
 * file. */
struct sf_text_stamp {
    int64_t mtime_ns;
    uint64_t inode, len;
};
struct sf_text_stamp sf_text_file_stamp(const char *path);

/* Calls `each` with the path of every file that a shell's pattern (*, ?, [...]) matches, sorted,
 * and ends at its first error. A pattern that matches nothing is fine; a name without such
 * characters is passed on even if the file is missing. LIMIT: more than `max` files; IO, NOMEM. */
enum sf_err sf_text_file_match(const char *pattern, size_t max,
                               enum sf_err (*each)(void *arg, const char *path, struct sf_why *why),
                               void *arg, struct sf_why *why);
