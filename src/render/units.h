/* units.h - numbers with units, for display. */
#pragma once
#include "base/buf.h"

void sf_units_duration(struct sf_buf *out,
                       uint64_t ns); /* "830 ns", "1.25 ms", "2 m 05 s", "3 h 20 m" */
void sf_units_bytes(struct sf_buf *out,
                    uint64_t len); /* "512 B", "1.4 KB", "50 GB": powers of 1,000 */
void sf_units_count(struct sf_buf *out, uint64_t n); /* "950", "12.3 k", "4.1 M" */
void sf_units_rate(struct sf_buf *out,
                   double per_second); /* "0.2/s", "12/s", "3.4 k/s", "2/min", "4/h" */
void sf_units_percent(struct sf_buf *out, double share); /* 0.0312 is "3.1 %" */
/* A value of a profile in its own unit: nanoseconds are a duration, bytes are bytes, everything
 * else is a count. */
void sf_units_amount(struct sf_buf *out, int64_t value, sf_str unit);
/* Text from telemetry for a file that others open: replaces what sf_units_text() replaces, without
 * truncating. */
void sf_units_plain(struct sf_buf *out, sf_str text);
/* Ends a line that began at `from` and contains text from telemetry: the same characters are
 * replaced in all of it, so that a name cannot start a second line. */
void sf_units_end_line(struct sf_buf *out, size_t from);
/* Text from telemetry for a terminal: control characters, escapes and bidi overrides become '?',
 * bytes that are not UTF-8 too; at most `columns` wide, cut with an ellipsis. Returns the width. */
size_t sf_units_text(struct sf_buf *out, sf_str text, size_t columns);
/* Sentences: the same replacements, wrapped at 78 columns; all lines but the first are indented by
 * `indent`, and `at` columns of the first are already used. Longer words get their own line. Ends
 * without a newline; returns the column. */
size_t sf_units_prose(struct sf_buf *out, sf_str text, size_t at, size_t indent);
void sf_units_pad(struct sf_buf *out, size_t columns); /* blanks */
/* Whether the amount equals the number of samples, so that it is not shown twice. */
bool sf_units_is_count_of(int64_t value, sf_str unit, double n_samples);
