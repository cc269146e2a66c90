/* inflate.h - decompresses gzip, zlib/deflate and zstd, never to more than the caller allows.
 *
 * A context keeps the libraries' memory between calls: one per thread, made once. A complete stream
 * may only be followed by another stream of the same kind (members, frames).
 *
 * INPUT: damaged, truncated or followed by garbage, with the offset in the compressed bytes. LIMIT:
 * more than `max_len` bytes, or a zstd window above 8 MiB. NOMEM. The previous content of `out` is
 * kept; on failure the added part is removed. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum sf_inflate_kind {
    SF_INFLATE_GZIP,
    SF_INFLATE_ZLIB, /* "deflate": with zlib wrapper, or raw if there is no zlib header */
    SF_INFLATE_ZSTD,
    SF_INFLATE_ZSTD_OPEN, /* the end of the last frame may be missing: what a writer has flushed so
                           * far */
};

struct sf_inflate; /* opaque: the libraries' contexts */

struct sf_inflate *sf_inflate_new(void);    /* NULL: no memory */
void sf_inflate_free(struct sf_inflate *z); /* NULL is fine */

enum sf_err sf_inflate_bytes(struct sf_inflate *z, enum sf_inflate_kind kind, sf_bytes in,
                             size_t max_len, struct sf_buf *out, struct sf_why *why);
