/* profile_sent.h - the log record (kind SF_LOG_PROFILE_SENT) of an uploaded profile that intake did
 * not have to change: the bytes as received and the parameters of the request. Decoding it again
 * gives the same batch. docs/format-log.md describes the bytes. */
#pragma once
#include "decode/profile_format.h"

/* Whether the record can hold every parameter of the request. It cannot hold other parts of the
 * request (a previous profile to subtract, labels of a recording) or sample types that override
 * those of the profile. */
bool sf_profile_sent_can(const struct sf_profile_hint *hint);
/* An allocation failure is kept in `out` as its error state. */
void sf_profile_sent_encode(const struct sf_profile_hint *hint, sf_str bytes, struct sf_buf *out);
/* The decoded strings point into `in`; lists are allocated in `req`. Returns CORRUPT (with the byte
 * offset), UNSUPPORTED or LIMIT. */
enum sf_err sf_profile_sent_decode(sf_bytes in, struct sf_arena *req, struct sf_profile_hint *out,
                                   sf_str *out_bytes, struct sf_why *why);
