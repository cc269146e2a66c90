/* setting.h - parses durations and sizes: a number and a unit.
 *
 * Fails with INPUT; `why` says what is wrong with the text; the caller adds where it comes from. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* Accepted forms beyond "1h30m", "1.5s", "500ms" and a bare "0". */
enum sf_duration_form {
    SF_DURATION_PLAIN = 0,
    SF_DURATION_YEARS = 1,  /* weeks (w) and years of 365 days (y) */
    SF_DURATION_POINTS = 2, /* no digit on one side of the point: ".5s", "1.s" */
    SF_DURATION_BLANKS = 4, /* blanks before a unit: "10 s" */
};

/* One or more numbers, each with its unit: ns, us, ms, s, m, h or d. At most 292 years; fractions
 * of a nanosecond are dropped. `form` is a combination of the bits above. */
enum sf_err sf_setting_duration_parse(sf_str text, unsigned form, int64_t *out_ns,
                                      struct sf_why *why);

/* A number and one unit, in either case: B, K or KB (1000), KiB (1024), and so for M, G, T, P; no
 * unit: bytes. Blanks before the unit are fine. */
enum sf_err sf_setting_size_parse(sf_str text, uint64_t *out_len, struct sf_why *why);

/* "true", "yes", "on", "1" and "false", "no", "off", "0", in either case. */
bool sf_setting_flag_parse(sf_str text, bool *out);
/* "80%", "80" and "0.5 %" into hundredths of a percent; 0 to 100. */
bool sf_setting_percent_parse(sf_str text, uint32_t *out_per_10000);

/* Types of setting values in configuration files, variables and flags. The server and the
 * collectors read their settings with this one function, so that a text means the same in both. */
enum sf_setting_kind {
    SF_SETTING_BOOL,     /* 0 or 1 */
    SF_SETTING_COUNT,    /* a whole number */
    SF_SETTING_RATE,     /* a whole number, optionally followed by "Hz" */
    SF_SETTING_SIZE,     /* bytes, as above */
    SF_SETTING_DURATION, /* ns; blanks before a unit are fine */
    SF_SETTING_PERCENT   /* hundredths of a percent */
};
enum sf_err sf_setting_parse(enum sf_setting_kind kind, sf_str text, uint64_t *out,
                             struct sf_why *why);
/* Stores a parsed value in a field of its type: bool, uint32_t for a percentage, 64 bits
 * otherwise. */
void sf_setting_put(enum sf_setting_kind kind, void *field, uint64_t value);
