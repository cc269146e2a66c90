#include "http/request.h"

#include "base/text.h"

sf_str sf_request_header(const struct sf_request *r, sf_str name)
{
    for (uint32_t i = 0; i < r->n_headers; i++) {
        if (sf_str_eq(r->headers[i].name, name))
            return r->headers[i].val;
    }
    return SF_STR_NONE;
}

bool sf_request_decode(sf_str in, struct sf_buf *out)
{
    for (size_t i = 0; i < in.len; i++) {
        int hi, lo;

        if (in.p[i] != '%') {
            sf_buf_add_u8(out, (uint8_t)(in.p[i] == '+' ? ' ' : in.p[i]));
            continue;
        }
        if (in.len - i < 3)
            return false;
        hi = sf_hex_digit(in.p[i + 1]);
        lo = sf_hex_digit(in.p[i + 2]);
        if (hi < 0 || lo < 0)
            return false;
        sf_buf_add_u8(out, (uint8_t)(hi * 16 + lo));
        i += 2;
    }
    return sf_buf_ok(out);
}

void sf_request_encode(sf_str in, struct sf_buf *out)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < in.len; i++) {
        uint8_t c = (uint8_t)in.p[i];
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            c == '-' || c == '_' || c == '.' || c == '~') {
            sf_buf_add_u8(out, c);
            continue;
        }
        sf_buf_add_u8(out, '%');
        sf_buf_add_u8(out, (uint8_t)hex[c >> 4]);
        sf_buf_add_u8(out, (uint8_t)hex[c & 15]);
    }
}

bool sf_request_param(const struct sf_request *r, sf_str name, struct sf_buf *out)
{
    sf_str rest = r->query, pair;

    while (sf_str_split_next(&rest, '&', &pair)) {
        size_t at = pair.len;
        sf_str val;

        (void)sf_str_find_char(pair, '=', &at);
        val = sf_str_from_at(pair, at + 1);
        sf_buf_reset(out);
        if (!sf_request_decode(sf_str_part(pair, 0, at), out) || !sf_str_eq(sf_buf_str(out), name))
            continue;
        sf_buf_reset(out);
        return sf_request_decode(val, out);
    }
    sf_buf_reset(out);
    return false;
}

bool sf_request_param_next(sf_str *rest, struct sf_buf *name, struct sf_buf *val)
{
    sf_str pair;

    while (sf_str_split_next(rest, '&', &pair)) {
        size_t at = pair.len;

        (void)sf_str_find_char(pair, '=', &at);
        sf_buf_reset(name);
        sf_buf_reset(val);
        if (sf_request_decode(sf_str_part(pair, 0, at), name) &&
            sf_request_decode(sf_str_from_at(pair, at + 1), val))
            return true;
    }
    return false;
}

void sf_response_done(struct sf_response *r)
{
    sf_buf_done(&r->body);
    sf_buf_done(&r->text);
    sf_buf_done(&r->grpc_details);
    *r = (struct sf_response){0};
}

void sf_response_reset(struct sf_response *r)
{
    struct sf_buf body = r->body, text = r->text, details = r->grpc_details;

    sf_buf_reset(&body);
    sf_buf_reset(&text);
    sf_buf_reset(&details);
    body.spill = NULL;
    *r = (struct sf_response){.body = body, .text = text, .grpc_details = details};
}

bool sf_response_header(struct sf_response *r, const char *constant_name, sf_str val)
{
    const char *old = (const char *)r->text.p;
    size_t at = r->text.len;

    if (r->n_headers == SF_RESPONSE_HEADERS_MAX || !sf_buf_reserve(&r->text, val.len))
        return false;
    /* Growing may have moved the text; the views of earlier values are adjusted. */
    for (uint32_t i = 0; old && i < r->n_headers; i++) {
        struct sf_header *h = &r->headers[i];
        if (h->val.p >= old && h->val.p < old + at)
            h->val.p = (const char *)r->text.p + (h->val.p - old);
    }
    sf_buf_add_str(&r->text, val);
    r->headers[r->n_headers++] = (struct sf_header){
        sf_str_from(constant_name),
        {val.len ? (const char *)r->text.p + at : NULL, val.len},
    };
    return true;
}
