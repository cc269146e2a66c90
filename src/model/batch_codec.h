/* batch_codec.h - the normalised form of a batch: what the log keeps when the body as received must
 * not be kept (log kind SF_LOG_BATCH). Own, versioned, compact; decoding checks everything, since a
 * disk is outside too. docs/format-log.md describes the bytes. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/span.h"

void sf_batch_codec_encode(const struct sf_span_batch *batch,
                           struct sf_buf *out); /* fault sticks in `out` */
/* Views into `in` and lists in `req`. CORRUPT with the byte offset. */
enum sf_err sf_batch_codec_decode(sf_bytes in, struct sf_arena *req, struct sf_span_batch *out,
                                  struct sf_why *why);
