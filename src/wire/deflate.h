/* deflate.h - compresses to gzip (answers) and zstd (the log). One context per thread, like
 * inflate.h. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct sf_deflate; /* opaque: the libraries' contexts */

struct sf_deflate *sf_deflate_new(void); /* NULL: no memory */
void sf_deflate_free(struct sf_deflate *z);

/* Append one gzip member, or one zstd frame with its content size and, if requested, a checksum.
 * `level` is that of the library (gzip 1-9, zstd -5 to 19). NOMEM, LIMIT (of `out`); then `out`
 * keeps its old content. */
enum sf_err sf_deflate_gzip(struct sf_deflate *z, int level, sf_bytes in, struct sf_buf *out,
                            struct sf_why *why);
/* A gzip member written in pieces; the output so far may be sent at once. */
struct sf_deflate_stream;
struct sf_deflate_stream *sf_deflate_stream_new(int level); /* NULL: no memory */
void sf_deflate_stream_free(struct sf_deflate_stream *s);   /* NULL is fine */
/* Compresses `in` and appends the available output; with `is_last` all of it, and the end. After
 * NOMEM or LIMIT (of `out`) the stream may only be freed. */
enum sf_err sf_deflate_stream_add(struct sf_deflate_stream *s, sf_bytes in, bool is_last,
                                  struct sf_buf *out, struct sf_why *why);

enum sf_err sf_deflate_zstd(struct sf_deflate *z, int level, bool has_checksum, sf_bytes in,
                            struct sf_buf *out, struct sf_why *why);
