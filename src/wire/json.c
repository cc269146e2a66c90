/* json.c - the JSON cursor. It keeps a stack of open brackets, bounded in depth, and the first
 * error. Strings without escapes are returned as views of the input; numbers are validated as text
 * and converted exactly. */
#include "wire/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/text.h"

void sf_json_init(struct sf_json *j, sf_str text, struct sf_arena *req)
{
    const char *p = text.p ? text.p : "";
    j->start = j->at = p;
    j->end = p + text.len;
    j->req = req;
    j->fault = NULL;
    j->fault_off = 0;
    j->err = SF_OK;
    j->depth = 0; /* `open` is written before it is read */
    if (sf_str_starts(text, SF_STR("\xef\xbb\xbf")))
        j->at += 3; /* a byte order mark, which some editors leave */
}

static void fail_at(struct sf_json *j, const char *at, enum sf_err err, const char *fault)
{
    if (!j->fault) {
        j->fault = fault;
        j->fault_off = (size_t)(at - j->start);
        j->err = err;
    }
    j->at = j->end;
}

void sf_json_fault(struct sf_json *j, const char *fault)
{
    fail_at(j, j->at, SF_ERR_INPUT, fault);
}

static void render_path(const struct sf_json *j, struct sf_buf *path)
{
    for (uint32_t i = 0; i < j->depth && path->len < 150; i++) {
        if (j->open[i].n == 0)
            break;
        if (j->open[i].is_array)
            sf_buf_print(path, "[%u]", j->open[i].n - 1);
        else
            sf_buf_print(path, "%s%.*s", i ? "." : "",
                         (int)(j->open[i].key.len < 64 ? j->open[i].key.len : 64),
                         j->open[i].key.p);
    }
}

enum sf_err sf_json_why(const struct sf_json *j, const char *what, struct sf_why *why)
{
    struct sf_buf path = {.max = 400};
    size_t line = 1;
    enum sf_err err;

    if (!j->fault)
        return SF_OK;
    if (!why)
        return j->err;
    render_path(j, &path); /* without memory the path is only missing */
    for (size_t i = 0; i < j->fault_off; i++)
        line += j->start[i] == '\n';
    err = sf_fail(why, j->err, "%s: %.*s%s%s (line %zu, byte %zu)", what,
                  SF_STR_ARG(sf_buf_str(&path)), path.len ? ": " : "", j->fault, line,
                  j->fault_off);
    sf_buf_done(&path);
    return err;
}

static void json_skip_blanks(struct sf_json *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\r' || *j->at == '\t'))
        j->at++;
}

static char json_look(struct sf_json *j)
{
    json_skip_blanks(j);
    return j->at < j->end ? *j->at : 0;
}

bool sf_json_end(struct sf_json *j)
{
    json_skip_blanks(j);
    if (j->at < j->end)
        sf_json_fault(j, "something follows the end of the JSON text");
    return !j->fault;
}

enum sf_json_type sf_json_peek(struct sf_json *j)
{
    switch (json_look(j)) {
    case '{': return SF_JSON_OBJECT;
    case '[': return SF_JSON_ARRAY;
    case '"': return SF_JSON_STRING;
    case 't':
    case 'f': return SF_JSON_BOOL;
    case 'n': return SF_JSON_NULL;
    case '-':
    case '0' ... '9': return SF_JSON_NUMBER;
    default: return SF_JSON_NONE;
    }
}

static bool json_take_word(struct sf_json *j, sf_str word)
{
    sf_str rest = {j->at, (size_t)(j->end - j->at)};
    if (!sf_str_starts(rest, word)) {
        sf_json_fault(j, "not JSON");
        return false;
    }
    j->at += word.len;
    return true;
}

/* Consumes null. */
static bool take_null(struct sf_json *j)
{
    return json_look(j) == 'n' && json_take_word(j, SF_STR("null"));
}

static bool json_enter(struct sf_json *j, char bracket, const char *fault)
{
    if (json_look(j) != bracket) {
        if (!take_null(j))
            sf_json_fault(j, j->at == j->end ? "the text ends too early" : fault);
        return false;
    }
    if (j->depth == SF_LIMIT_JSON_DEPTH) {
        sf_json_fault(j, "nested too deep");
        return false;
    }
    j->at++;
    j->open[j->depth].n = 0;
    j->open[j->depth].is_array = bracket == '[';
    j->open[j->depth].key = SF_STR_NONE;
    j->depth++;
    return true;
}

bool sf_json_object(struct sf_json *j)
{
    return json_enter(j, '{', "an object is needed here");
}

bool sf_json_array(struct sf_json *j)
{
    return json_enter(j, '[', "an array is needed here");
}

/* To the next member: past the comma, or out of the bracket. */
static bool json_step(struct sf_json *j, char bracket)
{
    char c = json_look(j);
    SF_ASSERT(j->fault || j->depth > 0);
    if (j->fault)
        return false;
    if (c == bracket) {
        j->at++;
        j->depth--;
        return false;
    }
    if (j->open[j->depth - 1].n > 0) {
        if (c != ',') {
            sf_json_fault(j, c || j->at < j->end ? "a comma or the closing bracket is missing"
                                                 : "the text ends too early");
            return false;
        }
        j->at++;
        json_skip_blanks(j);
    }
    if (j->at == j->end) {
        sf_json_fault(j, "the text ends too early");
        return false;
    }
    j->open[j->depth - 1].n++;
    return true;
}

bool sf_json_item(struct sf_json *j)
{
    return json_step(j, ']');
}

/* Skips eight bytes at a time up to a quote, a backslash or a control character. */
static const char *find_special(const char *p, const char *end)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    while (end - p >= 8) {
        uint64_t w = sf_load_u64le(p), quote = w ^ (ones * '"'), slash = w ^ (ones * '\\');
        uint64_t hit = ((w - ones * 0x20) & ~w) | ((quote - ones) & ~quote) |
                       ((slash - ones) & ~slash);
        hit &= highs;
        /* Because of borrows, a byte after the first hit may be marked wrongly, but never one
         * before it. */
        if (hit)
            return p + (__builtin_ctzll(hit) >> 3);
        p += 8;
    }
    while (p < end && *p != '"' && *p != '\\' && (uint8_t)*p >= 0x20)
        p++;
    return p;
}

static bool hex4(const char *p, const char *end, uint32_t *out)
{
    uint32_t v = 0;
    if (end - p < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        int digit = sf_hex_digit(p[i]);
        if (digit < 0)
            return false;
        v = v << 4 | (uint32_t)digit;
    }
    *out = v;
    return true;
}

/* Decodes the escape after the backslash at *at into `to` (NULL: only checks it). The result is
 * never longer than the escape. An unpaired surrogate becomes U+FFFD. */
static bool read_escape(struct sf_json *j, const char **at, char *to, size_t *len)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    const char *p = *at + 1, *known;
    uint32_t code, low;
    char spare[4];

    if (p < j->end && *p && (known = strchr(from, *p))) {
        if (to)
            to[*len] = into[known - from];
        *len += 1;
        *at = p + 1;
        return true;
    }
    if (p >= j->end || *p != 'u' || !hex4(p + 1, j->end, &code)) {
        fail_at(j, *at, SF_ERR_INPUT, "an escape that JSON does not know");
        return false;
    }
    p += 5;
    if (code >= 0xd800 && code < 0xdc00 && j->end - p >= 6 && p[0] == '\\' && p[1] == 'u' &&
        hex4(p + 2, j->end, &low) && low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        p += 6;
    } else if (code >= 0xd800 && code < 0xe000) {
        code = 0xfffd;
    }
    *len += sf_utf8_put(to ? to + *len : spare, code);
    *at = p;
    return true;
}

/* From the opening quote past the closing one. `to` NULL: only checked; otherwise unescaped into
 * it. */
static bool scan_string(struct sf_json *j, char *to, size_t *out_len, bool *out_has_escapes)
{
    const char *open = j->at, *p = open + 1;
    size_t len = 0;
    *out_has_escapes = false;
    for (;;) {
        const char *stop = find_special(p, j->end);
        if (to)
            memcpy(to + len, p, (size_t)(stop - p));
        len += (size_t)(stop - p);
        p = stop;
        if (p == j->end) {
            fail_at(j, open, SF_ERR_INPUT, "a string does not end");
            return false;
        }
        if (*p == '"')
            break;
        if (*p != '\\') {
            fail_at(j, p, SF_ERR_INPUT, "a control character inside a string");
            return false;
        }
        *out_has_escapes = true;
        if (!read_escape(j, &p, to, &len))
            return false;
    }
    j->at = p + 1;
    *out_len = len;
    return true;
}

static sf_str json_read_string(struct sf_json *j)
{
    const char *open = j->at;
    bool has_escapes;
    size_t len;
    char *to;

    if (!scan_string(j, NULL, &len, &has_escapes))
        return SF_STR_NONE;
    if (!has_escapes)
        return (sf_str){open + 1, len};
    to = j->req ? sf_arena_raw(j->req, len, 1) : NULL;
    if (!to) {
        fail_at(j, open, j->req ? SF_ERR_LIMIT : SF_ERR_INPUT,
                j->req ? "no room for the decoded text" : "escapes are not taken here");
        return SF_STR_NONE;
    }
    j->at = open;
    scan_string(j, to, &len, &has_escapes);
    return (sf_str){to, len};
}

/* To the next member of an object. `out_key` NULL: its key is only checked, and uses no memory. */
static bool step_key(struct sf_json *j, sf_str *out_key)
{
    const char *start;
    bool ignored;
    size_t len;
    sf_str key = {0};

    if (!json_step(j, '}'))
        return false;
    start = j->at;
    if (*start != '"') {
        sf_json_fault(j, "a key in quotes is needed here");
        return false;
    }
    if (out_key)
        key = json_read_string(j);
    else
        scan_string(j, NULL, &len, &ignored);
    if (j->fault)
        return false;
    j->open[j->depth - 1].key = (sf_str){start + 1, (size_t)(j->at - start) - 2};
    if (json_look(j) != ':') {
        sf_json_fault(j, "a colon is missing");
        return false;
    }
    j->at++;
    if (out_key)
        *out_key = key;
    return true;
}

bool sf_json_key(struct sf_json *j, sf_str *out_key)
{
    return step_key(j, out_key);
}

static size_t json_digits(const char *p, const char *end)
{
    const char *from = p;
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return (size_t)(p - from);
}

/* Length of the number at the start of [p, end); 0: none. */
static size_t number_len(const char *p, const char *end)
{
    const char *from = p;
    size_t n;
    if (p < end && *p == '-')
        p++;
    n = json_digits(p, end);
    if (n == 0 || (n > 1 && *p == '0'))
        return 0;
    p += n;
    if (p < end && *p == '.') {
        n = json_digits(p + 1, end);
        if (n == 0)
            return 0;
        p += 1 + n;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        n = json_digits(p, end);
        if (n == 0)
            return 0;
        p += n;
    }
    return (size_t)(p - from);
}

static sf_str json_read_number(struct sf_json *j)
{
    sf_str text = {j->at, number_len(j->at, j->end)};
    if (text.len == 0)
        sf_json_fault(j, "not a number");
    j->at += text.len;
    return text;
}

void sf_json_skip(struct sf_json *j)
{
    bool ignored;
    size_t len;

    switch (sf_json_peek(j)) {
    case SF_JSON_OBJECT:
        if (sf_json_object(j)) {
            while (step_key(j, NULL))
                sf_json_skip(j); /* `enter` limits the depth */
        }
        break;
    case SF_JSON_ARRAY:
        if (sf_json_array(j)) {
            while (sf_json_item(j))
                sf_json_skip(j);
        }
        break;
    case SF_JSON_STRING: scan_string(j, NULL, &len, &ignored); break;
    case SF_JSON_NUMBER: json_read_number(j); break;
    case SF_JSON_BOOL: sf_json_bool(j); break;
    case SF_JSON_NULL: take_null(j); break;
    default: sf_json_fault(j, j->at == j->end ? "the text ends too early" : "not JSON"); break;
    }
}

bool sf_json_bool(struct sf_json *j)
{
    char c = json_look(j);
    if (c == 't')
        return json_take_word(j, SF_STR("true"));
    if (c == 'f')
        json_take_word(j, SF_STR("false"));
    else if (!take_null(j))
        sf_json_fault(j, "true or false is needed here");
    return false;
}

sf_str sf_json_str(struct sf_json *j)
{
    if (json_look(j) == '"')
        return json_read_string(j);
    if (!take_null(j))
        sf_json_fault(j, "a string is needed here");
    return SF_STR_NONE;
}

/* The digits of a number, bare or in quotes. False: null or an error. */
static bool number_text(struct sf_json *j, sf_str *out)
{
    if (take_null(j) || j->fault)
        return false;
    *out = sf_json_peek(j) == SF_JSON_STRING ? json_read_string(j) : json_read_number(j);
    return !j->fault;
}

static bool add_digits(uint64_t *v, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (__builtin_mul_overflow(*v, 10u, v) ||
            __builtin_add_overflow(*v, (unsigned)(p[i] - '0'), v))
            return false;
    }
    return true;
}

static int64_t read_exponent(const char *p, const char *end)
{
    bool is_down = p < end && *p == '-';
    int64_t e = 0;
    for (p += p < end && (*p == '-' || *p == '+'); p < end; p++)
        e = e > 100000 ? e : e * 10 + (*p - '0'); /* larger than for any 64-bit integer, without
                                                   * overflow */
    return is_down ? -e : e;
}

/* Exact: all digits as one integer, shifted according to the exponent. False: not a 64-bit
 * integer. */
static bool text_to_integer(sf_str text, bool *out_is_negative, uint64_t *out)
{
    const char *p = text.p, *end = text.p + text.len;
    size_t n_whole, n_part = 0;
    int64_t shift;
    uint64_t v = 0;

    if (text.len == 0 || number_len(p, end) != text.len)
        return false;
    *out_is_negative = *p == '-';
    p += *out_is_negative;
    n_whole = json_digits(p, end);
    if (!add_digits(&v, p, n_whole))
        return false;
    p += n_whole;
    if (p < end && *p == '.') {
        size_t n = json_digits(++p, end);
        for (n_part = n; n_part && p[n_part - 1] == '0';)
            n_part--; /* trailing zeros of a fraction are ignored */
        if (!add_digits(&v, p, n_part))
            return false;
        p += n;
    }
    shift = (p < end ? read_exponent(p + 1, end) : 0) - (int64_t)n_part;
    for (; shift > 0 && v; shift--) {
        if (__builtin_mul_overflow(v, 10u, &v))
            return false;
    }
    for (; shift < 0 && v; shift++) {
        if (v % 10)
            return false;
        v /= 10;
    }
    *out = v;
    return true;
}

int64_t sf_json_i64(struct sf_json *j)
{
    const char *start = j->at;
    bool is_negative;
    uint64_t v;
    sf_str text;
    if (!number_text(j, &text))
        return 0;
    if (!text_to_integer(text, &is_negative, &v) || v > (uint64_t)INT64_MAX + is_negative) {
        fail_at(j, start, SF_ERR_INPUT, "a 64-bit integer is needed here");
        return 0;
    }
    return (int64_t)(is_negative ? 0 - v : v);
}

static uint64_t read_unsigned(struct sf_json *j, uint64_t max, const char *fault)
{
    const char *start = j->at;
    bool is_negative;
    uint64_t v;
    sf_str text;
    if (!number_text(j, &text))
        return 0;
    if (!text_to_integer(text, &is_negative, &v) || v > max || (is_negative && v)) {
        fail_at(j, start, SF_ERR_INPUT, fault);
        return 0;
    }
    return v;
}

uint64_t sf_json_u64(struct sf_json *j)
{
    return read_unsigned(j, UINT64_MAX, "an integer from 0 to 2^64 - 1 is needed here");
}

uint32_t sf_json_u32(struct sf_json *j)
{
    return (uint32_t)read_unsigned(j, UINT32_MAX, "an integer from 0 to 2^32 - 1 is needed here");
}

static bool text_to_f64(sf_str text, double *out)
{
    char copy[512];
    if (sf_str_eq(text, SF_STR("NaN")))
        *out = NAN;
    else if (sf_str_eq(text, SF_STR("Infinity")))
        *out = INFINITY;
    else if (sf_str_eq(text, SF_STR("-Infinity")))
        *out = -INFINITY;
    else if (text.len == 0 || number_len(text.p, text.p + text.len) != text.len ||
             text.len >= sizeof(copy))
        return false;
    else {
        memcpy(copy, text.p, text.len);
        copy[text.len] = 0;
        *out = strtod(copy, NULL);
        return isfinite(*out);
    }
    return true;
}

double sf_json_f64(struct sf_json *j)
{
    const char *start = j->at;
    double v;
    sf_str text;
    if (!number_text(j, &text))
        return 0;
    if (!text_to_f64(text, &v)) {
        fail_at(j, start, SF_ERR_INPUT, "a double is needed here");
        return 0;
    }
    return v;
}
