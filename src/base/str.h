/* str.h - a pointer and a length, passed by value. Not terminated, may contain any byte; does not
 * own its memory. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sf_str {
    const char *p;
    size_t len;
} sf_str;

typedef struct sf_bytes {
    const uint8_t *p;
    size_t len;
} sf_bytes;

#define SF_STR(literal) ((sf_str){"" literal, sizeof(literal) - 1})
#define SF_STR_NONE     ((sf_str){0})
#define SF_BYTES_NONE   ((sf_bytes){0})
/* For printf("%.*s", SF_STR_ARG(s)). */
#define SF_STR_ARG(s) (int)((s).len > 1u << 20 ? 1u << 20 : (s).len), (s).p ? (s).p : ""

static inline sf_bytes sf_str_bytes(sf_str s)
{
    return (sf_bytes){(const uint8_t *)s.p, s.len};
}
static inline sf_str sf_bytes_str(sf_bytes b)
{
    return (sf_str){(const char *)b.p, b.len};
}

sf_str sf_str_from(const char *terminated); /* NULL is empty */
bool sf_str_eq(sf_str a, sf_str b);
bool sf_str_ieq(sf_str a, sf_str b); /* ASCII case folded */
int sf_str_cmp(sf_str a, sf_str b);  /* bytes, then length */
bool sf_str_starts(sf_str s, sf_str prefix);
bool sf_str_ends(sf_str s, sf_str suffix);
bool sf_str_find(sf_str s, sf_str needle, size_t *out_at);
bool sf_str_find_char(sf_str s, char c, size_t *out_at);
sf_str sf_str_from_at(sf_str s, size_t at);          /* the rest from `at`; past the end is empty */
sf_str sf_str_part(sf_str s, size_t at, size_t len); /* clipped to s */
sf_str sf_str_trim(sf_str s);                        /* without ASCII blanks at both ends */
/* Splits at the first `c`: *out_head before it, *rest after it. False at the end. */
bool sf_str_split_next(sf_str *rest, char c, sf_str *out_head);

/* The whole string must be a number; no sign for u64, no blanks, no leading '+'. */
bool sf_str_to_u64(sf_str s, uint64_t *out);
bool sf_str_to_i64(sf_str s, int64_t *out);
bool sf_str_to_f64(sf_str s,
                   double *out); /* decimal or exponent form, finite; "inf" and "nan" are refused */

/* Edit distance, up to 64 bytes each; for "did you mean". */
size_t sf_str_distance(sf_str a, sf_str b);
