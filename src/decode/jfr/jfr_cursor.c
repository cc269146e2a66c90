#include "decode/jfr/jfr_cursor.h"

#include "base/text.h"

void sf_jfr_cursor_fault(struct sf_jfr_cursor *c, const uint8_t *at, const char *fault)
{
    if (!c->fault) {
        c->fault = fault;
        c->fault_at = at;
    }
    c->at = c->end;
}

uint64_t sf_jfr_cursor_varint_slow(struct sf_jfr_cursor *c)
{
    const uint8_t *from = c->at;
    uint64_t v = 0;
    for (unsigned i = 0; i < 9 && c->at < c->end; i++) {
        uint8_t byte = *c->at++;
        if (i == 8)
            return v | (uint64_t)byte << 56;
        v |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80)
            return v;
    }
    sf_jfr_cursor_fault(c, from, "a number runs past the end");
    return 0;
}

uint64_t sf_jfr_cursor_fixed(struct sf_jfr_cursor *c, unsigned len)
{
    uint64_t v = 0;
    if (len > sf_jfr_left(c)) {
        sf_jfr_cursor_fault(c, c->at, "a number runs past the end");
        return 0;
    }
    for (unsigned i = 0; i < len; i++)
        v = v << 8 | c->at[i];
    c->at += len;
    return v;
}

uint32_t sf_jfr_cursor_count(struct sf_jfr_cursor *c, size_t size)
{
    const uint8_t *from = c->at;
    int32_t n = sf_jfr_int(c);
    if (n < 0 || (size_t)n > sf_jfr_left(c) / (size ? size : 1)) {
        sf_jfr_cursor_fault(c, from, "a count is larger than what follows");
        return 0;
    }
    return (uint32_t)n;
}

void sf_jfr_cursor_text_read(struct sf_jfr_cursor *c, struct sf_jfr_text *out)
{
    const uint8_t *from = c->at;
    uint8_t encoding = sf_jfr_byte(c);
    *out = (struct sf_jfr_text){.encoding = (enum sf_jfr_encoding)encoding,
                                .is_plain = c->is_plain};
    switch (encoding) {
    case SF_JFR_NULL:
    case SF_JFR_EMPTY: break;
    case SF_JFR_POOL: out->key = sf_jfr_long(c); break;
    case SF_JFR_UTF8:
    case SF_JFR_LATIN1:
        out->raw.len = sf_jfr_cursor_count(c, 1);
        out->raw.p = (const char *)c->at;
        c->at += out->raw.len;
        break;
    case SF_JFR_UTF16:
        out->n_units = sf_jfr_cursor_count(c, c->is_plain ? 2 : 1);
        out->raw.p = (const char *)c->at;
        for (uint32_t i = 0; i < out->n_units && !c->fault; i++)
            sf_jfr_short(c);
        out->raw.len = c->fault ? 0 : (size_t)((const char *)c->at - out->raw.p);
        break;
    default:
        out->encoding = SF_JFR_NULL;
        sf_jfr_cursor_fault(c, from, "a string in an unknown encoding");
        break;
    }
}

static bool from_units(const struct sf_jfr_text *t, struct sf_arena *a, sf_str *out)
{
    struct sf_jfr_cursor c = {(const uint8_t *)t->raw.p, (const uint8_t *)t->raw.p + t->raw.len,
                              t->is_plain, NULL, NULL};
    char *to = sf_arena_raw(a, (size_t)t->n_units * 3 + 1, 1);
    size_t len = 0;
    uint32_t high = 0; /* the first half of a surrogate pair */
    if (!to)
        return false;
    for (uint32_t i = 0; i < t->n_units; i++) {
        uint32_t unit = sf_jfr_short(&c);
        bool is_low = unit >= 0xdc00 && unit < 0xe000;
        if (high && is_low) {
            len += sf_utf8_put(to + len, 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00));
            high = 0;
            continue;
        }
        if (high)
            len += sf_utf8_put(to + len, 0xfffd);
        high = unit >= 0xd800 && unit < 0xdc00 ? unit : 0;
        if (!high)
            len += sf_utf8_put(to + len, is_low ? 0xfffd : unit);
    }
    if (high)
        len += sf_utf8_put(to + len, 0xfffd);
    *out = (sf_str){to, len};
    return true;
}

static bool is_ascii(sf_str s)
{
    unsigned char seen = 0;
    for (size_t i = 0; i < s.len; i++)
        seen |= (unsigned char)s.p[i];
    return seen < 0x80;
}

bool sf_jfr_cursor_text_str(const struct sf_jfr_text *t, struct sf_arena *a, sf_str *out)
{
    char *to;
    size_t len = 0;
    *out = SF_STR_NONE;
    if (t->encoding == SF_JFR_UTF16)
        return from_units(t, a, out);
    if (t->encoding == SF_JFR_UTF8 || (t->encoding == SF_JFR_LATIN1 && is_ascii(t->raw))) {
        *out = t->raw;
        return true;
    }
    if (t->encoding != SF_JFR_LATIN1)
        return true;
    to = sf_arena_raw(a, t->raw.len * 2, 1);
    if (!to)
        return false;
    for (size_t i = 0; i < t->raw.len; i++)
        len += sf_utf8_put(to + len, (unsigned char)t->raw.p[i]);
    *out = (sf_str){to, len};
    return true;
}
