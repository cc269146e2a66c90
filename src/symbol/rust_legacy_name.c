/* Rust's first mangling has the form of a C++ name: _ZN, segments with their lengths, E. The last
 * segment is "h" and 16 hexadecimal digits, which are omitted; "$LT$" and similar stand for
 * characters that C names cannot contain, ".." for "::". */
#include <string.h>

#include "base/text.h"
#include "symbol/demangler.h"
#include "symbol/rust_name.h"

static bool is_hash(sf_str s)
{
    uint32_t seen = 0;
    if (s.len != 17 || s.p[0] != 'h')
        return false;
    for (size_t i = 1; i < s.len; i++) {
        int digit = s.p[i] >= 'A' && s.p[i] <= 'F' ? -1 : sf_hex_digit(s.p[i]);
        if (digit < 0)
            return false;
        seen |= 1u << digit;
    }
    return __builtin_popcount(seen) >= 5; /* a C++ name of this form would not contain so many
                                           * different digits */
}

/* "$u7e$": a character by its number. */
static bool rust_legacy_name_print_numbered(sf_str code, struct sf_buf *out)
{
    uint32_t v = 0;
    if (code.len < 2 || code.len > 7 || code.p[0] != 'u')
        return false;
    for (size_t i = 1; i < code.len; i++) {
        if (sf_hex_digit(code.p[i]) < 0)
            return false;
        v = v << 4 | (uint32_t)sf_hex_digit(code.p[i]);
    }
    if (v < 0x20 || (v >= 0x7f && v < 0xa0) || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
        return false; /* no control characters */
    sf_utf8_add(out, v);
    return true;
}

static bool print_escape(sf_str code, struct sf_buf *out)
{
    static const char *const known[][2] = {{"SP", "@"}, {"BP", "*"}, {"RF", "&"}, {"LT", "<"},
                                           {"GT", ">"}, {"LP", "("}, {"RP", ")"}, {"C", ","}};
    for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (sf_str_eq(code, sf_str_from(known[i][0]))) {
            sf_buf_add_str(out, sf_str_from(known[i][1]));
            return true;
        }
    }
    return rust_legacy_name_print_numbered(code, out);
}

static bool print_segment(sf_str s, struct sf_buf *out)
{
    if (sf_str_starts(s, SF_STR("_$")))
        s = sf_str_from_at(s, 1);
    while (s.len) {
        size_t end;
        if (s.p[0] == '$') {
            if (!sf_str_find_char(sf_str_from_at(s, 1), '$', &end) ||
                !print_escape(sf_str_part(s, 1, end), out))
                return false;
            s = sf_str_from_at(s, end + 2);
        } else if (sf_str_starts(s, SF_STR(".."))) {
            sf_buf_add_str(out, SF_STR("::"));
            s = sf_str_from_at(s, 2);
        } else {
            sf_buf_add_u8(out, (uint8_t)s.p[0]);
            s = sf_str_from_at(s, 1);
        }
    }
    return true;
}

/* Takes the next segment; false: there is none. */
static bool next_segment(sf_str *rest, sf_str *segment)
{
    size_t at = 0, len = 0;
    while (at < rest->len && rest->p[at] >= '0' && rest->p[at] <= '9' && len <= SF_DEMANGLE_MAX_LEN)
        len = len * 10 + (size_t)(rest->p[at++] - '0');
    if (!at || !len || len > rest->len - at)
        return false;
    *segment = sf_str_part(*rest, at, len);
    *rest = sf_str_from_at(*rest, at + len);
    return true;
}

static bool print_segments(sf_str rest, struct sf_buf *out)
{
    sf_str segment, before = SF_STR_NONE;
    bool is_first = true;
    while (next_segment(&rest, &segment)) {
        if (before.len) {
            if (!is_first)
                sf_buf_add_str(out, SF_STR("::"));
            is_first = false;
            if (!print_segment(before, out))
                return false;
        }
        before = segment;
    }
    return !is_first && is_hash(before) && rest.len && rest.p[0] == 'E' &&
           (rest.len == 1 || rest.p[1] == '.');
}

bool sf_rust_legacy_name_print(sf_str mangled, struct sf_buf *out)
{
    size_t from = out->len;
    if (sf_str_starts(mangled, SF_STR("_ZN")) && print_segments(sf_str_from_at(mangled, 3), out) &&
        sf_buf_ok(out))
        return true;
    if (!out->err)
        out->len = from;
    return false;
}
