/* gzip.h - a body as one gzip member. zlib, because it is small, everywhere, and linked in. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

/* Replaces the content of `out`. NOMEM or LIMIT: send it plain then. */
enum sf_err sf_gzip(sf_bytes in, struct sf_buf *out);
