/* profile_sent.h - an uploaded profile as it was received, with what the endpoint knew of it: what
 * the log keeps of a profile in which nothing had to change (kind SF_LOG_PROFILE_SENT). Decoding it
 * again gives the same batch. docs/format-log.md describes the bytes. */
#pragma once
#include "decode/profile_format.h"

/* Can the hint be kept? Parts beside the profile (an earlier one to subtract, labels of a
 * recording) and types over those of the profile cannot. */
bool sf_profile_sent_can(const struct sf_profile_hint *hint);
/* A fault sticks in `out`. */
void sf_profile_sent_encode(const struct sf_profile_hint *hint, sf_str bytes, struct sf_buf *out);
/* Views into `in` and lists in `req`. CORRUPT with the byte offset, UNSUPPORTED, LIMIT. */
enum sf_err sf_profile_sent_decode(sf_bytes in, struct sf_arena *req, struct sf_profile_hint *out,
                                   sf_str *out_bytes, struct sf_why *why);
