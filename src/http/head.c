/* head.c - collects and validates the head of a request. Method, target and fields are appended to
 * one text buffer and referred to by offsets, because the buffer moves while it grows;
 * sf_head_finish() turns the offsets into views and decodes path, codings and lengths. */
#include "http/head.h"

#include <string.h>

#include "base/num.h"
#include "base/text.h"

struct place {
    uint32_t name_off, name_len, val_off, val_len;
};

void sf_head_done(struct sf_head *h)
{
    sf_buf_done(&h->text);
    sf_buf_done(&h->places);
    sf_buf_done(&h->headers);
    *h = (struct sf_head){0};
}

void sf_head_reset(struct sf_head *h)
{
    struct sf_head empty = {.text = h->text, .places = h->places, .headers = h->headers};

    empty.len_max = h->len_max;
    sf_buf_reset(&empty.text);
    sf_buf_reset(&empty.places);
    sf_buf_reset(&empty.headers);
    *h = empty;
}

size_t sf_head_cap(const struct sf_head *h)
{
    return h->text.cap + h->places.cap + h->headers.cap;
}

bool sf_head_fail(struct sf_head *h, int status, const char *reason)
{
    if (!h->status) {
        h->status = status;
        h->reason = reason;
    }
    return false;
}

static bool fail_memory(struct sf_head *h)
{
    return sf_head_fail(h, 503, "no memory for the request's head");
}

/* Letters, digits and !#$%&'*+-.^_`|~ (RFC 9110, token). */
static bool is_token_char(uint8_t c)
{
    if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')
        return true;
    return (c >= '0' && c <= '9') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_token(sf_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!is_token_char((uint8_t)s.p[i]))
            return false;
    }
    return s.len > 0;
}

/* Whether all bytes are allowed in a value: no control characters but the tab. */
static bool is_value(sf_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        uint8_t c = (uint8_t)s.p[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

/* Lengths and offsets fit in 32 bits, because everything is limited by the head's limits. */
static bool head_keep(struct sf_head *h, sf_str s, uint32_t *off, uint32_t *len)
{
    *off = sf_u32(h->text.len);
    *len = sf_u32(s.len);
    sf_buf_add_str(&h->text, s);
    return sf_buf_ok(&h->text) || fail_memory(h);
}

bool sf_head_method(struct sf_head *h, sf_str method)
{
    if (h->status)
        return false;
    if (!is_token(method) || method.len > 32)
        return sf_head_fail(h, 400, "the method is not a word");
    return head_keep(h, method, &h->method_off, &h->method_len);
}

bool sf_head_target(struct sf_head *h, sf_str target)
{
    if (h->status)
        return false;
    if (target.len > SF_LIMIT_TARGET_LEN)
        return sf_head_fail(h, 414, "the request target is too long");
    for (size_t i = 0; i < target.len; i++) {
        uint8_t c = (uint8_t)target.p[i];
        if (c <= 0x20 || c == 0x7f || c == '#')
            return sf_head_fail(h, 400, "the request target contains an invalid byte");
    }
    return head_keep(h, target, &h->target_off, &h->target_len);
}

bool sf_head_authority(struct sf_head *h, sf_str authority)
{
    if (h->status)
        return false;
    if (authority.len > 1024 || !is_value(authority))
        return sf_head_fail(h, 400, "the host name is not valid");
    return head_keep(h, authority, &h->authority_off, &h->authority_len);
}

bool sf_head_check_field(struct sf_head *h, sf_str name, sf_str val)
{
    size_t max = h->len_max ? h->len_max : SF_LIMIT_HEADER_LEN;

    if (h->status)
        return false;
    /* The four bytes are for ": " and the line end, so that empty fields count too. */
    if (name.len > max || val.len > max || h->len > max - 4 ||
        name.len + val.len > max - 4 - h->len)
        return sf_head_fail(h, 431, "the headers are too long");
    h->len += name.len + val.len + 4;
    if (h->n_fields == SF_LIMIT_HEADERS)
        return sf_head_fail(h, 431, "there are too many headers");
    h->n_fields++;
    if (!is_token(name))
        return sf_head_fail(h, 400, "a header name is not a word");
    if (!is_value(val))
        return sf_head_fail(h, 400, "a header value holds a control character");
    return true;
}

bool sf_head_field(struct sf_head *h, sf_str name, sf_str val)
{
    struct place place;

    val = sf_str_trim(val);
    if (!sf_head_check_field(h, name, val))
        return false;
    if (!head_keep(h, name, &place.name_off, &place.name_len) ||
        !head_keep(h, val, &place.val_off, &place.val_len))
        return false;
    for (uint32_t i = 0; i < place.name_len; i++) {
        uint8_t *c = h->text.p + place.name_off + i;
        if (*c >= 'A' && *c <= 'Z')
            *c = (uint8_t)(*c | 0x20);
    }
    sf_buf_add(&h->places, &place, sizeof(place));
    return sf_buf_ok(&h->places) || fail_memory(h);
}

bool sf_head_list_has(sf_str list, sf_str word)
{
    sf_str item;

    while (sf_str_split_next(&list, ',', &item)) {
        if (sf_str_ieq(sf_str_trim(item), word))
            return true;
    }
    return false;
}

static enum sf_method method_of(sf_str name)
{
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (sf_str_eq(name, sf_str_from(names[i])))
            return (enum sf_method)i;
    }
    return SF_METHOD_OTHER;
}

static enum sf_coding coding_of(sf_str name)
{
    if (!name.len || sf_str_ieq(name, SF_STR("identity")))
        return SF_CODING_NONE;
    if (sf_str_ieq(name, SF_STR("gzip")) || sf_str_ieq(name, SF_STR("x-gzip")))
        return SF_CODING_GZIP;
    if (sf_str_ieq(name, SF_STR("zstd")))
        return SF_CODING_ZSTD;
    if (sf_str_ieq(name, SF_STR("deflate")) || sf_str_ieq(name, SF_STR("zlib")))
        return SF_CODING_DEFLATE;
    return SF_CODING_OTHER;
}

/* "q=0", "q=0.0", ...: this coding is not accepted. Any other weight is. */
static bool is_refused(sf_str params)
{
    sf_str one;

    while (sf_str_split_next(&params, ';', &one)) {
        double weight;
        one = sf_str_trim(one);
        if (one.len > 2 && (one.p[0] | 0x20) == 'q' && one.p[1] == '=' &&
            sf_str_to_f64(sf_str_from_at(one, 2), &weight))
            return weight <= 0;
    }
    return false;
}

static bool accepts_gzip(sf_str list)
{
    sf_str item;
    bool by_star = false;

    while (sf_str_split_next(&list, ',', &item)) {
        size_t at = item.len;
        sf_str name;
        (void)sf_str_find_char(item, ';', &at);
        name = sf_str_trim(sf_str_part(item, 0, at));
        if (sf_str_ieq(name, SF_STR("gzip")) || sf_str_ieq(name, SF_STR("x-gzip")))
            return !is_refused(sf_str_from_at(item, at + 1));
        if (sf_str_eq(name, SF_STR("*")))
            by_star = !is_refused(sf_str_from_at(item, at + 1));
    }
    return by_star;
}

/* Decodes in place, because the result is never longer. Control characters are refused: they could
 * only confuse logs and routes. */
static bool decode_path(struct sf_head *h, sf_str *path)
{
    char *at = (char *)h->text.p + (path->p - (const char *)h->text.p);
    size_t n = 0;

    for (size_t i = 0; i < path->len; i++) {
        int c = (uint8_t)path->p[i];
        if (c == '%') {
            int hi = path->len - i > 2 ? sf_hex_digit(path->p[i + 1]) : -1;
            int lo = path->len - i > 2 ? sf_hex_digit(path->p[i + 2]) : -1;
            if (hi < 0 || lo < 0)
                return sf_head_fail(h, 400, "the path holds a broken percent escape");
            c = hi * 16 + lo;
            i += 2;
            if (c < 0x20 || c == 0x7f)
                return sf_head_fail(h, 400, "the path holds a control character");
        }
        at[n++] = (char)c;
    }
    path->len = n;
    return true;
}

static bool split_target(struct sf_head *h, sf_str target, struct sf_request *out)
{
    size_t at;

    if (sf_str_starts(target, SF_STR("http://")) || sf_str_starts(target, SF_STR("https://"))) {
        (void)sf_str_find(target, SF_STR("://"), &at);
        target = sf_str_from_at(target, at + 3);
        if (!sf_str_find_char(target, '/', &at))
            return sf_head_fail(h, 400, "the request target has no path");
        out->authority = sf_str_part(target, 0, at); /* takes precedence over the Host field */
        target = sf_str_from_at(target, at);
    } else if (sf_str_eq(target, SF_STR("*")) && out->method == SF_METHOD_OPTIONS) {
        out->path = SF_STR("/"); /* the whole server */
        return true;
    }
    if (!target.len || target.p[0] != '/')
        return sf_head_fail(h, 400, "the request target is not a path");
    at = target.len;
    (void)sf_str_find_char(target, '?', &at);
    out->path = sf_str_part(target, 0, at);
    out->query = sf_str_from_at(target, at + 1);
    return decode_path(h, &out->path);
}

static bool head_make_headers(struct sf_head *h, struct sf_request *out)
{
    size_t n = h->places.len / sizeof(struct place);
    const char *text = (const char *)h->text.p;

    for (size_t i = 0; i < n; i++) {
        struct place place;
        struct sf_header header;
        memcpy(&place, h->places.p + i * sizeof(place), sizeof(place));
        header.name = (sf_str){text + place.name_off, place.name_len};
        header.val = (sf_str){text + place.val_off, place.val_len};
        sf_buf_add(&h->headers, &header, sizeof(header));
    }
    if (!sf_buf_ok(&h->headers))
        return fail_memory(h);
    out->headers = (const struct sf_header *)(const void *)h->headers.p;
    out->n_headers = sf_u32(n);
    return true;
}

bool sf_head_finish(struct sf_head *h, struct sf_request *out)
{
    const char *text = (const char *)h->text.p;
    sf_str type;
    size_t at;

    if (h->status || !head_make_headers(h, out))
        return false;
    out->method_name = (sf_str){text + h->method_off, h->method_len};
    out->method = method_of(out->method_name);
    out->authority = (sf_str){text + h->authority_off, h->authority_len};
    if (!out->authority.len)
        out->authority = sf_request_header(out, SF_STR("host"));
    if (!split_target(h, (sf_str){text + h->target_off, h->target_len}, out))
        return false;
    type = sf_request_header(out, SF_STR("content-type"));
    at = type.len;
    (void)sf_str_find_char(type, ';', &at);
    out->content_type = sf_str_trim(sf_str_part(type, 0, at));
    out->coding = coding_of(sf_request_header(out, SF_STR("content-encoding")));
    out->wants_gzip = accepts_gzip(sf_request_header(out, SF_STR("accept-encoding")));
    return true;
}
