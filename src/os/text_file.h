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
