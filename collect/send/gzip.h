/* gzip.h - compresses a body as one gzip member, with zlib linked statically. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

/* Replaces the content of `out`. NOMEM or LIMIT: send it uncompressed then. */
enum sf_err sf_gzip(sf_bytes in, struct sf_buf *out);
