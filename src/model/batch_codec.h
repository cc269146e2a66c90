/* batch_codec.h - the normalised form of a batch, which the log stores when the body as received
 * must not be stored (log kind SF_LOG_BATCH). A versioned, compact format; decoding checks
 * everything, because bytes from disk are not trusted either. docs/format-log.md describes the
 * bytes. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/span.h"

void sf_batch_codec_encode(const struct sf_span_batch *batch,
                           struct sf_buf *out); /* errors are kept in `out` */
/* Returns views into `in` and lists in `req`. CORRUPT with the byte offset. */
enum sf_err sf_batch_codec_decode(sf_bytes in, struct sf_arena *req, struct sf_span_batch *out,
                                  struct sf_why *why);
