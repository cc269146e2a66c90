/* time_text.h - parses and writes times in the forms that users and clients use. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* Unix seconds (with or without fraction), ms, us or ns distinguished by magnitude, RFC 3339,
 * "now", "now-15m". False: none of these. */
bool sf_time_text_parse(sf_str text, int64_t now_ns, int64_t *out_ns);
/* "2026-01-02 03:04:05.678" in UTC: the same on every machine; 23 columns until the year 9999. */
void sf_time_text_add(struct sf_buf *out, uint64_t unix_ns);
