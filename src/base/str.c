#include "base/str.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static char str_fold(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

sf_str sf_str_from(const char *terminated)
{
    return terminated ? (sf_str){terminated, strlen(terminated)} : SF_STR_NONE;
}

bool sf_str_eq(sf_str a, sf_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

bool sf_str_ieq(sf_str a, sf_str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++) {
        if (str_fold(a.p[i]) != str_fold(b.p[i]))
            return false;
    }
    return true;
}

int sf_str_cmp(sf_str a, sf_str b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len ? memcmp(a.p, b.p, len) : 0;
    if (order)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

bool sf_str_starts(sf_str s, sf_str prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.p, prefix.p, prefix.len) == 0);
}

bool sf_str_ends(sf_str s, sf_str suffix)
{
    return s.len >= suffix.len &&
           (suffix.len == 0 || memcmp(s.p + (s.len - suffix.len), suffix.p, suffix.len) == 0);
}

bool sf_str_find(sf_str s, sf_str needle, size_t *out_at)
{
    const char *hit;
    if (needle.len == 0) {
        *out_at = 0;
        return true;
    }
    if (s.len < needle.len)
        return false;
    hit = memmem(s.p, s.len, needle.p, needle.len);
    if (!hit)
        return false;
    *out_at = (size_t)(hit - s.p);
    return true;
}

bool sf_str_find_char(sf_str s, char c, size_t *out_at)
{
    const char *hit = s.len ? memchr(s.p, c, s.len) : NULL;
    if (!hit)
        return false;
    *out_at = (size_t)(hit - s.p);
    return true;
}

sf_str sf_str_from_at(sf_str s, size_t at)
{
    return at >= s.len ? SF_STR_NONE : (sf_str){s.p + at, s.len - at};
}

sf_str sf_str_part(sf_str s, size_t at, size_t len)
{
    sf_str rest = sf_str_from_at(s, at);
    if (rest.len > len)
        rest.len = len;
    return rest;
}

static bool str_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

sf_str sf_str_trim(sf_str s)
{
    while (s.len && str_is_blank(s.p[0])) {
        s.p++;
        s.len--;
    }
    while (s.len && str_is_blank(s.p[s.len - 1]))
        s.len--;
    return s;
}

bool sf_str_split_next(sf_str *rest, char c, sf_str *out_head)
{
    size_t at;
    if (!rest->p)
        return false;
    if (sf_str_find_char(*rest, c, &at)) {
        *out_head = (sf_str){rest->p, at};
        rest->p += at + 1;
        rest->len -= at + 1;
    } else {
        *out_head = *rest;
        *rest = SF_STR_NONE; /* p NULL marks the end: "a," has two parts, "a" one */
    }
    return true;
}

bool sf_str_to_u64(sf_str s, uint64_t *out)
{
    uint64_t n = 0;
    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        unsigned digit = (unsigned)(unsigned char)s.p[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(n, 10u, &n) || __builtin_add_overflow(n, digit, &n))
            return false;
    }
    *out = n;
    return true;
}

bool sf_str_to_i64(sf_str s, int64_t *out)
{
    uint64_t n;
    if (s.len && s.p[0] == '-') {
        if (!sf_str_to_u64(sf_str_from_at(s, 1), &n) || n > (uint64_t)INT64_MAX + 1)
            return false;
        *out = (int64_t)(0 - n);
        return true;
    }
    if (!sf_str_to_u64(s, &n) || n > INT64_MAX)
        return false;
    *out = (int64_t)n;
    return true;
}

bool sf_str_to_f64(sf_str s, double *out)
{
    char text[64];
    char *end;
    double value;
    if (s.len == 0 || s.len >= sizeof(text))
        return false;
    for (size_t i = 0; i < s.len; i++) {
        /* strtod also accepts blanks, hex, "inf" and "nan", which are refused here. */
        char c = s.p[i];
        if (!((c >= '0' && c <= '9') || c == '.' || c == '-' || c == 'e' || c == 'E' ||
              (c == '+' && i)))
            return false;
    }
    memcpy(text, s.p, s.len);
    text[s.len] = 0;
    value = strtod(text, &end);
    if (end != text + s.len || !isfinite(value))
        return false;
    *out = value;
    return true;
}

size_t sf_str_distance(sf_str a, sf_str b)
{
    size_t row[65];
    if (a.len > 64)
        a.len = 64;
    if (b.len > 64)
        b.len = 64;
    for (size_t j = 0; j <= b.len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t above = row[j];
            size_t best = diagonal + (a.p[i - 1] != b.p[j - 1]);
            if (above + 1 < best)
                best = above + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = above;
            row[j] = best;
        }
    }
    return row[b.len];
}
