#include "serve/plain_body.h"

#include "wire/inflate.h"

enum { EMPTY_LEN = 16 }; /* "{}" with blanks and a line end */

enum sf_err sf_plain_body_read(struct sf_call *call, struct sf_buf *out, struct sf_why *why)
{
    const struct sf_exchange_body *body = sf_exchange_body(call->ex);
    size_t got = 0;
    uint8_t *p = sf_buf_take(out, (size_t)body->len);
    enum sf_err err;
    if (body->len == 0)
        return SF_OK;
    if (!p)
        return sf_fail(why, SF_ERR_NOMEM, "no memory for a body of %llu bytes",
                       (unsigned long long)body->len);
    err = sf_exchange_body_read(call->ex, 0, p, (size_t)body->len, &got, why);
    if (!err && got < body->len)
        err = sf_fail(why, SF_ERR_IO, "a spooled body ended early");
    return err;
}

enum sf_err sf_plain_body_none(struct sf_call *call, struct sf_why *why)
{
    struct sf_buf body = {.max = EMPTY_LEN};
    sf_str text;
    bool is_none = sf_exchange_body(call->ex)->len <= EMPTY_LEN &&
                   !sf_plain_body_read(call, &body, NULL);
    text = sf_str_trim(sf_buf_str(&body));
    is_none = is_none && (!text.len || sf_str_eq(text, SF_STR("{}")));
    sf_buf_done(&body);
    return is_none ? SF_OK
                   : sf_fail(why, SF_ERR_INPUT,
                             "this call reads no body: put its parameters into the query, as in "
                             "?NAME=VALUE (known: %s)",
                             call->route->params[0] ? call->route->params : "none");
}

enum sf_err sf_plain_body_inflate(struct sf_worker *worker, enum sf_coding coding, size_t max_len,
                                  struct sf_buf *room, sf_str *io_body, struct sf_why *why)
{
    enum sf_inflate_kind kind = coding == SF_CODING_GZIP   ? SF_INFLATE_GZIP
                                : coding == SF_CODING_ZSTD ? SF_INFLATE_ZSTD
                                                           : SF_INFLATE_ZLIB;
    enum sf_err err;
    if (coding == SF_CODING_NONE || io_body->len == 0)
        return SF_OK;
    if (coding == SF_CODING_OTHER)
        return sf_fail(why, SF_ERR_UNSUPPORTED,
                       "this content encoding is not read here; use gzip, zstd, deflate or none");
    err = sf_inflate_bytes(sf_intake_tools_inflate(worker->tools), kind, sf_str_bytes(*io_body),
                           max_len, room, why);
    if (!err)
        *io_body = sf_buf_str(room);
    return err;
}
