/* units.h - numbers as people read them. */
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
/* Text from telemetry for a file others open: what sf_units_text() replaces becomes '?', nothing is
 * cut. */
void sf_units_plain(struct sf_buf *out, sf_str text);
/* Ends a line that was begun at `from` and holds text from telemetry: the same is replaced in all
 * of it, so that a name cannot start a second line. */
void sf_units_end_line(struct sf_buf *out, size_t from);
/* Text from telemetry for a terminal: control characters, escapes and bidi overrides become '?',
 * bytes that are not UTF-8 too; at most `columns` wide, cut with an ellipsis. Returns the width. */
size_t sf_units_text(struct sf_buf *out, sf_str text, size_t columns);
/* Sentences: the same care, broken between words into lines of at most 78 columns, all but the
 * first moved in by `indent`; `at` columns of the first are taken. Words that are longer than a
 * line have one for themselves, uncut. Ends without a newline; returns the column. */
size_t sf_units_prose(struct sf_buf *out, sf_str text, size_t at, size_t indent);
void sf_units_pad(struct sf_buf *out, size_t columns); /* blanks */
/* Is the amount nothing but the number of samples? Then it is not given twice. */
bool sf_units_is_count_of(int64_t value, sf_str unit, double n_samples);
