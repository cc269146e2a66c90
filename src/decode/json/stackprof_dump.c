/* stackprof's own file: the hash of its JSON as Ruby's Marshal writes it.
 *
 *     04 08                      version 4.8
 *     0 T F                      nil, true, false
 *     i n   l sign n shorts      integers; those over 31 bits are of the second kind
 *     f n text                   a float
 *     " n bytes                  a string; inside I ... n (symbol value)*n, which has its encoding
 *     : n name   ; n             a symbol, and the same one again
 *     [ n values   { n pairs     an array, a hash; } has a default value behind its pairs
 *     C symbol value             of a class of one's own
 *     @ n                        the same object again: strings, floats, large integers, arrays and
 *                                hashes are counted as they begin
 *
 * It is rewritten as JSON, with a text for every key, and that is decoded. Other types of objects
 * do not occur in such files. Repetition through links is bounded by the length of the whole. */
#include <inttypes.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/num.h"
#include "decode/profile_build.h"
#include "wire/json_write.h"

extern const struct sf_profile_format sf_stackprof_format;

enum { MAX_DEPTH = 32 };

struct object { /* start of its bytes, including its type */
    const uint8_t *at;
};

struct reader {
    struct sf_profile_build *b;
    const uint8_t *at, *end, *start;
    struct sf_profile_list objects, symbols; /* struct object, sf_str */
    struct sf_json_writer w;
    const char *fault;
};

static void stackprof_dump_fail(struct reader *r, const char *fault)
{
    if (!r->fault)
        r->fault = fault;
    r->at = r->end;
}

static uint8_t take_byte(struct reader *r)
{
    if (r->at == r->end) {
        stackprof_dump_fail(r, "it is cut short");
        return 0;
    }
    return *r->at++;
}

/* One byte for small numbers, else the number of bytes that follow; negative numbers use negative
 * counts. */
static int64_t take_long(struct reader *r)
{
    uint8_t byte = take_byte(r);
    int c = byte < 128 ? byte : (int)byte - 256;
    int64_t v;
    if (c == 0)
        return 0;
    if (c > 4)
        return c - 5;
    if (c < -4)
        return c + 5;
    v = c < 0 ? -1 : 0;
    for (int i = 0; i < (c < 0 ? -c : c); i++) {
        v &= ~((int64_t)0xff << 8 * i);
        v |= (int64_t)take_byte(r) << 8 * i;
    }
    return v;
}

static size_t take_len(struct reader *r, size_t each)
{
    int64_t n = take_long(r);
    if (n < 0 || (uint64_t)n > (uint64_t)(r->end - r->at) / (each ? each : 1)) {
        stackprof_dump_fail(r, "a length that cannot be");
        return 0;
    }
    return (size_t)n;
}

static sf_str take_bytes(struct reader *r)
{
    size_t len = take_len(r, 1);
    sf_str s = {(const char *)r->at, len};
    r->at += len;
    return s;
}

static void stackprof_dump_note(struct reader *r, const uint8_t *from)
{
    struct object *to = sf_profile_list_more(r->b, &r->objects, sizeof(*to));
    if (!to)
        return;
    *to = (struct object){from};
    r->objects.n++;
}

static sf_str take_symbol(struct reader *r)
{
    uint8_t type = take_byte(r);
    sf_str *to;
    int64_t place;
    if (type == 'I') { /* a name that is not ASCII has an encoding */
        sf_str name = take_symbol(r);
        size_t n = take_len(r, 2);
        for (size_t i = 0; i < n && !r->fault; i++) {
            (void)take_symbol(r);
            (void)take_byte(r); /* T or F */
        }
        return name;
    }
    if (type == ';') {
        place = take_long(r);
        if (place >= 0 && place < (int64_t)r->symbols.n)
            return ((const sf_str *)r->symbols.items)[place];
        stackprof_dump_fail(r, "a symbol that was not there before");
        return SF_STR_NONE;
    }
    if (type != ':') {
        stackprof_dump_fail(r, "no symbol where one must be");
        return SF_STR_NONE;
    }
    to = sf_profile_list_more(r->b, &r->symbols, sizeof(*to));
    if (!to) {
        stackprof_dump_fail(r, "it does not fit its memory");
        return SF_STR_NONE;
    }
    *to = take_bytes(r);
    r->symbols.n++;
    return *to;
}

/* Writes a number, as a value or as the text of a key. */
static void write_integer(struct reader *r, int64_t v, bool is_key)
{
    char text[24];
    if (!is_key) {
        sf_json_write_i64(&r->w, v);
        return;
    }
    int n = snprintf(text, sizeof(text), "%" PRId64, v);
    sf_json_write_key(&r->w, (sf_str){text, (size_t)n});
}

static void write_large(struct reader *r, bool is_key)
{
    bool is_negative = take_byte(r) == '-';
    size_t n = take_len(r, 2) * 2;
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t byte = take_byte(r);
        if (i >= 8 && byte)
            stackprof_dump_fail(r, "a number of more than 64 bits");
        v |= i < 8 ? (uint64_t)byte << 8 * i : 0;
    }
    if (v > INT64_MAX) /* larger than any address or count */
        stackprof_dump_fail(r, "a number of more than 63 bits");
    write_integer(r, is_negative ? -(int64_t)v : (int64_t)v, is_key);
}

static void stackprof_dump_write_text(struct reader *r, sf_str s, bool is_key)
{
    if (is_key)
        sf_json_write_key(&r->w, s);
    else
        sf_json_write_str(&r->w, s);
}

static void stackprof_dump_write_value(struct reader *r, unsigned depth, bool is_key);

static void write_hash(struct reader *r, unsigned depth, bool has_default)
{
    size_t n = take_len(r, 2);
    sf_json_write_object(&r->w);
    for (size_t i = 0; i < n && !r->fault; i++) {
        stackprof_dump_write_value(r, depth + 1, true);
        stackprof_dump_write_value(r, depth + 1, false);
    }
    if (has_default) {
        sf_json_write_key(&r->w, SF_STR("(default)"));
        stackprof_dump_write_value(r, depth + 1, false);
    }
    sf_json_write_object_end(&r->w);
}

static void write_array(struct reader *r, unsigned depth)
{
    size_t n = take_len(r, 1);
    sf_json_write_array(&r->w);
    for (size_t i = 0; i < n && !r->fault; i++)
        stackprof_dump_write_value(r, depth + 1, false);
    sf_json_write_array_end(&r->w);
}

/* An object that occurred before: texts and numbers are written again; others are not needed. */
static void stackprof_dump_write_link(struct reader *r, bool is_key)
{
    int64_t place = take_long(r);
    const uint8_t *back = r->at;
    uint8_t type;
    if (place < 0 || place >= (int64_t)r->objects.n) {
        stackprof_dump_fail(r, "a link to nothing");
        return;
    }
    r->at = ((const struct object *)r->objects.items)[place].at;
    type = take_byte(r);
    if (type == '"' || type == 'f')
        stackprof_dump_write_text(r, take_bytes(r), is_key);
    else if (type == 'l')
        write_large(r, is_key);
    else if (is_key)
        sf_json_write_key(&r->w, SF_STR("(object)"));
    else
        sf_json_write_null(&r->w);
    if (!r->fault)
        r->at = back;
}

static void write_ivars(struct reader *r, unsigned depth, bool is_key)
{
    struct sf_buf nowhere = {.max = 1 << 16};
    struct sf_json_writer w = r->w;
    size_t n;
    stackprof_dump_write_value(r, depth + 1, is_key);
    n = take_len(r, 2);
    w = r->w;
    for (size_t i = 0; i < n && !r->fault; i++) { /* the encoding, which is UTF-8 or ASCII */
        (void)take_symbol(r);
        sf_buf_reset(&nowhere);
        r->w = sf_json_writer_init(&nowhere);
        stackprof_dump_write_value(r, depth + 1, false);
    }
    r->w = w;
    sf_buf_done(&nowhere);
}

static void write_scalar(struct reader *r, uint8_t type, bool is_key)
{
    if (type == 'i')
        write_integer(r, take_long(r), is_key);
    else if (is_key)
        sf_json_write_key(&r->w, type == 'T' ? SF_STR("true") : SF_STR("false"));
    else if (type == '0')
        sf_json_write_null(&r->w);
    else
        sf_json_write_bool(&r->w, type == 'T');
}

static void stackprof_dump_write_value(struct reader *r, unsigned depth, bool is_key)
{
    const uint8_t *from = r->at;
    uint8_t type = take_byte(r);
    if (r->fault)
        return;
    if (depth > MAX_DEPTH) {
        stackprof_dump_fail(r, "it is nested too deeply");
        return;
    }
    if (type == '"' || type == 'f' || type == 'l' || type == '[' || type == '{' || type == '}')
        stackprof_dump_note(r, from);
    switch (type) {
    case '0':
    case 'T':
    case 'F':
    case 'i': write_scalar(r, type, is_key); break;
    case 'l': write_large(r, is_key); break;
    case '"': stackprof_dump_write_text(r, take_bytes(r), is_key); break;
    case 'f': stackprof_dump_write_text(r, take_bytes(r), is_key); break;
    case ':':
    case ';':
        r->at--;
        stackprof_dump_write_text(r, take_symbol(r), is_key);
        break;
    case '@': stackprof_dump_write_link(r, is_key); break;
    case 'I': write_ivars(r, depth, is_key); break;
    case 'C':
        (void)take_symbol(r);
        stackprof_dump_write_value(r, depth + 1, is_key);
        break;
    case '[':
    case '{':
    case '}':
        if (is_key)
            stackprof_dump_fail(r, "a key that is not a word");
        else if (type == '[')
            write_array(r, depth);
        else
            write_hash(r, depth, type == '}');
        break;
    default: stackprof_dump_fail(r, "an object that is not part of a profile"); break;
    }
}

static enum sf_err stackprof_dump_decode(struct sf_profile_build *b, sf_str bytes)
{
    struct reader *r = sf_profile_new(b, 1, sizeof(*r));
    struct sf_buf text = {.max = SF_LIMIT_INFLATED_LEN};
    enum sf_err err = SF_OK;
    sf_str json = SF_STR_NONE;
    if (!r)
        return SF_OK; /* finish() reports the error */
    r->b = b;
    r->start = (const uint8_t *)bytes.p;
    r->at = r->start + (bytes.len < 2 ? bytes.len : 2);
    r->end = r->start + bytes.len;
    r->w = sf_json_writer_init(&text);
    stackprof_dump_write_value(r, 0, false);
    if (r->fault && !b->is_full)
        err = sf_fail(b->why, SF_ERR_INPUT, "stackprof's dump: %s", r->fault);
    else if (!sf_buf_ok(&text))
        err = text.err == SF_ERR_LIMIT
                  ? sf_fail(b->why, SF_ERR_LIMIT, "stackprof's dump: more than %u bytes as text",
                            SF_LIMIT_INFLATED_LEN)
                  : sf_fail(b->why, SF_ERR_NOMEM, "stackprof's dump: no memory");
    else
        json = sf_profile_table_copy(b, sf_buf_str(&text));
    sf_buf_done(&text);
    return err || b->is_full ? err : sf_stackprof_format.decode(b, json);
}

static bool stackprof_dump_is_dump(sf_str bytes)
{
    sf_str head = sf_str_part(bytes, 0, 4096);
    size_t at;
    return (sf_str_starts(bytes, SF_STR("\x04\x08{")) ||
            sf_str_starts(bytes, SF_STR("\x04\x08}"))) &&
           sf_str_find(head, SF_STR("interval"), &at) && sf_str_find(head, SF_STR("mode"), &at);
}

const struct sf_profile_format sf_stackprof_dump_format = {
    .name = "stackprof-dump",
    .also = "",
    .is = stackprof_dump_is_dump,
    .decode = stackprof_dump_decode,
};
