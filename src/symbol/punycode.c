#include "symbol/punycode.h"

#include <string.h>

#include "base/text.h"

enum { MAX_CHARS = 128, BASE = 36, T_MIN = 1, T_MAX = 26, SKEW = 38, DAMP = 700, FIRST = 128 };

static uint32_t adapt(uint32_t delta, uint32_t n_chars, bool is_first)
{
    uint32_t k = 0;
    delta /= is_first ? DAMP : 2;
    delta += delta / n_chars;
    for (; delta > (BASE - T_MIN) * T_MAX / 2; k += BASE)
        delta /= BASE - T_MIN;
    return k + (BASE - T_MIN + 1) * delta / (delta + SKEW);
}

/* One variable-length number; false: none. */
static bool read_delta(sf_str *rest, uint32_t bias, uint32_t *out)
{
    uint32_t v = 0, weight = 1;
    for (uint32_t k = BASE;; k += BASE) {
        uint32_t t = k <= bias ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias, digit, scaled;
        char c = rest->len ? rest->p[0] : 0;
        if (c >= 'a' && c <= 'z')
            digit = (uint32_t)(c - 'a');
        else if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0' + 26);
        else
            return false;
        *rest = sf_str_from_at(*rest, 1);
        if (__builtin_mul_overflow(digit, weight, &scaled) || __builtin_add_overflow(v, scaled, &v))
            return false;
        if (digit < t)
            break;
        if (__builtin_mul_overflow(weight, BASE - t, &weight))
            return false;
    }
    *out = v;
    return true;
}

bool sf_punycode_print(sf_str text, struct sf_buf *out)
{
    uint32_t chars[MAX_CHARS], n = 0, code = FIRST, bias = 72, at = 0, delta;
    size_t mark = text.len;
    sf_str rest;
    while (mark && text.p[mark - 1] != '_')
        mark--;
    rest = sf_str_from_at(text, mark);
    if (mark > MAX_CHARS)
        return false;
    for (size_t i = 0; mark && i < mark - 1; i++)
        chars[n++] = (uint8_t)text.p[i];
    for (bool is_first = true; rest.len; is_first = false) {
        if (n == MAX_CHARS || !read_delta(&rest, bias, &delta) ||
            __builtin_add_overflow(at, delta, &at))
            return false;
        bias = adapt(delta, n + 1, is_first);
        if (__builtin_add_overflow(code, at / (n + 1), &code) || code > 0x10ffff ||
            (code >= 0xd800 && code < 0xe000))
            return false;
        at %= n + 1;
        memmove(&chars[at + 1], &chars[at], (n - at) * sizeof(chars[0]));
        chars[at++] = code;
        n++;
    }
    for (uint32_t i = 0; i < n; i++)
        sf_utf8_add(out, chars[i]);
    return n > 0;
}
