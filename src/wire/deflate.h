/* deflate.h - plain bytes to gzip (answers) and zstd (the log). A context per thread, like
 * inflate.h. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct sf_deflate; /* opaque: the libraries' contexts */

struct sf_deflate *sf_deflate_new(void); /* NULL: no memory */
void sf_deflate_free(struct sf_deflate *z);

/* Append one gzip member, or one zstd frame that says its content size and carries a checksum only
 * if asked. `level` as the libraries mean it (gzip 1-9, zstd -5 to 19). NOMEM, LIMIT (of `out`);
 * `out` keeps its old content then. */
enum sf_err sf_deflate_gzip(struct sf_deflate *z, int level, sf_bytes in, struct sf_buf *out,
                            struct sf_why *why);
/* One gzip member that is made piece by piece; what came out so far may be sent at once. */
struct sf_deflate_stream;
struct sf_deflate_stream *sf_deflate_stream_new(int level); /* NULL: no memory */
void sf_deflate_stream_free(struct sf_deflate_stream *s);   /* NULL is fine */
/* Appends what is ready of `in` and all before it; with `is_last` all of it, and the end. NOMEM,
 * LIMIT (of `out`): the stream is then only good for free. */
enum sf_err sf_deflate_stream_add(struct sf_deflate_stream *s, sf_bytes in, bool is_last,
                                  struct sf_buf *out, struct sf_why *why);

enum sf_err sf_deflate_zstd(struct sf_deflate *z, int level, bool has_checksum, sf_bytes in,
                            struct sf_buf *out, struct sf_why *why);
