#include "base/text.h"

#include <string.h>

static const char hex_digits[] = "0123456789abcdef";

void sf_hex_encode(const uint8_t *p, size_t len, char *out)
{
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = hex_digits[p[i] >> 4];
        out[2 * i + 1] = hex_digits[p[i] & 15];
    }
}

/* The digit's value + 1; 0: not a digit. */
static const uint8_t hex_values[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16};

int sf_hex_digit(char c)
{
    return hex_values[(uint8_t)c] - 1;
}

bool sf_hex_decode(sf_str text, uint8_t *out, size_t len)
{
    if (text.len != 2 * len)
        return false;
    for (size_t i = 0; i < len; i++) {
        int high = sf_hex_digit(text.p[2 * i]), low = sf_hex_digit(text.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void sf_base64_encode(struct sf_buf *out, sf_bytes in)
{
    for (size_t i = 0; i < in.len; i += 3) {
        size_t n = in.len - i < 3 ? in.len - i : 3;
        uint32_t v = (uint32_t)in.p[i] << 16 | (n > 1 ? (uint32_t)in.p[i + 1] << 8 : 0) |
                     (n > 2 ? (uint32_t)in.p[i + 2] : 0);
        char four[4] = {base64_digits[v >> 18], base64_digits[v >> 12 & 63],
                        n > 1 ? base64_digits[v >> 6 & 63] : '=',
                        n > 2 ? base64_digits[v & 63] : '='};
        sf_buf_add(out, four, sizeof(four));
    }
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    if (c == '/' || c == '_')
        return 63;
    return -1;
}

bool sf_base64_decode(struct sf_buf *out, sf_str in)
{
    uint32_t bits = 0;
    unsigned n_bits = 0;

    for (int i = 0; i < 2 && in.len && in.p[in.len - 1] == '='; i++)
        in.len--;
    if (in.len % 4 == 1)
        return false;
    for (size_t i = 0; i < in.len; i++) {
        int digit = base64_digit(in.p[i]);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            sf_buf_add_u8(out, (uint8_t)(bits >> n_bits));
        }
    }
    return sf_buf_ok(out);
}

size_t sf_utf8_char_len(sf_str s, uint32_t *out_code)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t first;
    size_t len;
    uint32_t code;

    if (s.len == 0)
        return 0;
    first = (uint8_t)s.p[0];
    len = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
    if (len == 0 || len > s.len)
        return 0;
    code = len == 1 ? first : first & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        uint8_t next = (uint8_t)s.p[i];
        if (next >> 6 != 2)
            return 0;
        code = code << 6 | (next & 63);
    }
    if (code < least[len] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return 0;
    if (out_code)
        *out_code = code;
    return len;
}

bool sf_utf8_is_valid(sf_str s)
{
    size_t i = 0;
    while (i < s.len) {
        size_t len;
        /* Nearly all telemetry is ASCII: eight bytes at a time. */
        while (s.len - i >= 8) {
            uint64_t word;
            memcpy(&word, s.p + i, 8);
            if (word & 0x8080808080808080u)
                break;
            i += 8;
        }
        if (i == s.len)
            return true;
        len = sf_utf8_char_len((sf_str){s.p + i, s.len - i}, NULL);
        if (len == 0)
            return false;
        i += len;
    }
    return true;
}

size_t sf_utf8_cut(sf_str s, size_t max)
{
    size_t len = s.len < max ? s.len : max;
    if (len == s.len)
        return len;
    for (size_t back = 0; back < 4 && len > back; back++) {
        if (((uint8_t)s.p[len - back] & 0xc0) != 0x80)
            return len - back;
    }
    return len; /* not valid UTF-8 */
}

size_t sf_utf8_put(char to[4], uint32_t code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 63));
        to[2] = (char)(0x80 | (code & 63));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 63));
    to[2] = (char)(0x80 | (code >> 6 & 63));
    to[3] = (char)(0x80 | (code & 63));
    return 4;
}

void sf_utf8_add(struct sf_buf *out, uint32_t code)
{
    char to[4];
    sf_buf_add(out, to, sf_utf8_put(to, code));
}

static bool is_wide(uint32_t c)
{
    return (c >= 0x1100 && c <= 0x115f) || (c >= 0x2e80 && c <= 0xa4cf) ||
           (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) ||
           (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) ||
           (c >= 0x1f300 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd);
}

static bool is_zero_width(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x300 && c <= 0x36f) ||
           (c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x2069) || (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff;
}

size_t sf_utf8_width(sf_str s)
{
    size_t width = 0;
    while (s.len) {
        uint32_t code = '?';
        size_t len = sf_utf8_char_len(s, &code);
        if (len == 0)
            len = 1;
        width += is_zero_width(code) ? 0 : is_wide(code) ? 2 : 1;
        s = sf_str_from_at(s, len);
    }
    return width;
}

/* ---- untrusted text ---- */

bool sf_text_is_unseen(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
           (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
           (c >= 0xe0000 && c <= 0xe007f);
}

static bool is_bare(sf_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.p[i];
        bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_word && (c == 0 || !strchr("-._/:@%+,", c)))
            return false;
    }
    return text.len > 0;
}

void sf_text_shell_word(struct sf_buf *out, sf_str text)
{
    if (is_bare(text)) {
        sf_buf_add_str(out, text);
        return;
    }
    sf_buf_add_u8(out, '\'');
    while (text.len > 0) {
        uint32_t c = 0;
        size_t len = sf_utf8_char_len(text, &c);
        if (len == 0 || sf_text_is_unseen(c))
            sf_buf_add_u8(out, '?');
        else if (c == '\'')
            sf_buf_add_str(out, SF_STR("'\\''"));
        else
            sf_buf_add_str(out, sf_str_part(text, 0, len));
        text = sf_str_from_at(text, len ? len : 1);
    }
    sf_buf_add_u8(out, '\'');
}

/* ---- suggestions for mistyped words ---- */

static sf_str text_fold(sf_str word, char *to, size_t cap)
{
    size_t len = word.len < cap ? word.len : cap;
    for (size_t i = 0; i < len; i++) {
        char c = word.p[i];
        to[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c == '_' ? '-' : c);
    }
    return (sf_str){to, len};
}

const char *sf_text_nearest(sf_str word, const char *const *known, size_t n_known)
{
    char word_mem[64], known_mem[64];
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;
    sf_str folded = text_fold(word, word_mem, sizeof(word_mem));

    /* A third of the word may differ: beyond that a suggestion would be misleading. */
    for (size_t i = 0; i < n_known; i++) {
        sf_str other = text_fold(sf_str_from(known[i]), known_mem, sizeof(known_mem));
        size_t distance = sf_str_distance(folded, other);
        size_t longer = folded.len > other.len ? folded.len : other.len;
        if (folded.len >= 3 && sf_str_starts(other, folded))
            distance = 1;
        if (distance <= (longer + 2) / 3 && distance < longer && distance < best_distance) {
            best = known[i];
            best_distance = distance;
        }
    }
    return best;
}
