/* text_file.h - a small file by its path, whole: configuration, tokens, queries, request bodies. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

/* "-" is standard input. LIMIT when it is longer than `max_len`; NOT_FOUND, DENIED, IO. */
enum sf_err sf_text_file_read(const char *path, size_t max_len, struct sf_buf *out,
                              struct sf_why *why);
