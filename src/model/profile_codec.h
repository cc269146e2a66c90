/* profile_codec.h - the normalised form of a profile batch, which the log stores (log kind
 * SF_LOG_PROFILES). A versioned, compact format; decoding checks everything, because bytes from
 * disk are not trusted either. docs/format-log.md describes the bytes. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/profile.h"

void sf_profile_codec_encode(const struct sf_profile_batch *batch,
                             struct sf_buf *out); /* errors are kept in `out` */
/* Returns views into `in` and lists in `req`. CORRUPT with the byte offset, UNSUPPORTED, LIMIT. */
enum sf_err sf_profile_codec_decode(sf_bytes in, struct sf_arena *req, struct sf_profile_batch *out,
                                    struct sf_why *why);
