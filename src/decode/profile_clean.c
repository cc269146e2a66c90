#include "base/num.h"
#include "base/text.h"
#include "decode/profile_build.h"

/* Printable ASCII only; checks eight bytes at a time. */
static bool profile_clean_is_plain(sf_str s)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    size_t i = 0;
    for (; i + 8 <= s.len; i += 8) {
        uint64_t v = sf_load_u64le(s.p + i);
        uint64_t is_low = (v - ones * 0x20) & ~v, is_del = (v ^ ones * 0x7f) - ones;
        if ((v | is_low | is_del) & highs)
            return false;
    }
    for (; i < s.len; i++) {
        if ((unsigned char)s.p[i] < 0x20 || (unsigned char)s.p[i] >= 0x7f)
            return false;
    }
    return true;
}

/* The next character of `s`: its length, and its replacement if it may not stay. */
static size_t next_char(sf_str s, const char **instead)
{
    uint32_t code = 0;
    size_t n = sf_utf8_char_len(s, &code);
    *instead = NULL;
    if (!n)
        *instead = "\xef\xbf\xbd";
    else if (code == '\t' || code == '\n' || code == '\r')
        *instead = " ";
    else if (code < 0x20 || (code >= 0x7f && code < 0xa0))
        *instead = "?";
    return n ? n : 1;
}

sf_str sf_profile_clean(struct sf_profile_build *b, sf_str s)
{
    const char *instead = NULL;
    size_t len = 0;
    char *p;
    if (__builtin_expect(profile_clean_is_plain(s), 1))
        return s;
    for (size_t i = 0; i < s.len && !instead;)
        i += next_char(sf_str_from_at(s, i), &instead);
    if (!instead)
        return s;
    p = sf_arena_raw(b->a, s.len * 3, 1);
    if (!p) {
        b->is_full = true;
        return SF_STR_NONE;
    }
    for (size_t i = 0, n; i < s.len; i += n) {
        n = next_char(sf_str_from_at(s, i), &instead);
        memcpy(p + len, instead ? instead : s.p + i, instead ? strlen(instead) : n);
        len += instead ? strlen(instead) : n;
    }
    sf_arena_grow(b->a, p, s.len * 3, len); /* gives the unused part back */
    return (sf_str){p, len};
}
