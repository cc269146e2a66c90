#include "serve/tempo/stream.h"

#include <string.h>

#include "base/limits.h"
#include "base/time_unit.h"
#include "http/grpc.h"
#include "os/clock.h"
#include "wire/inflate.h"

/* Enough for a query, a tag or two and a few numbers. */
enum { REQUEST_LEN = 2 * SF_LIMIT_QUERY_LEN };

static const int64_t UPDATE_NS = 500 * SF_NS_PER_MS;

/* ---- the request ---- */

static enum sf_err stream_inflate(enum sf_coding coding, sf_bytes in, struct sf_buf *out,
                                  struct sf_why *why)
{
    struct sf_inflate *z = sf_inflate_new();
    enum sf_inflate_kind kind = coding == SF_CODING_GZIP   ? SF_INFLATE_GZIP
                                : coding == SF_CODING_ZSTD ? SF_INFLATE_ZSTD
                                                           : SF_INFLATE_ZLIB;
    enum sf_err err = z ? sf_inflate_bytes(z, kind, in, REQUEST_LEN, out, why)
                        : sf_no_memory(why, "a request");
    sf_inflate_free(z);
    return err;
}

enum sf_err sf_stream_request(struct sf_call *call, struct sf_arena *req, sf_bytes *out,
                              struct sf_why *why)
{
    const struct sf_exchange_body *body = sf_exchange_body(call->ex);
    enum sf_coding coding = call->request->coding;
    struct sf_buf plain = {0};
    enum sf_err err = SF_OK;
    sf_str kept = SF_STR_NONE;
    if (body->len > REQUEST_LEN || body->is_spooled)
        return sf_fail(why, SF_ERR_INPUT, "a query's message is longer than %d bytes", REQUEST_LEN);
    if (coding == SF_CODING_NONE) {
        *out = body->memory;
        return SF_OK;
    }
    err = stream_inflate(coding, body->memory, &plain, why);
    if (!err && !sf_arena_copy(req, sf_buf_str(&plain), &kept))
        err = sf_no_room(why, "the request");
    sf_buf_done(&plain);
    if (!err)
        *out = sf_str_bytes(kept);
    return err == SF_ERR_LIMIT ? SF_ERR_INPUT : err;
}

/* ---- the answer ---- */

void sf_stream_begin(struct sf_stream *s)
{
    sf_call_ok(s->call, "application/grpc");
    s->next_ns = sf_clock_mono_ns() + UPDATE_NS;
}

bool sf_stream_is_due(struct sf_stream *s)
{
    return sf_clock_mono_ns() >= s->next_ns;
}

bool sf_stream_tell(struct sf_stream *s)
{
    bool is_sent;
    s->has_told = true;
    is_sent = sf_buf_ok(&s->message) && !sf_exchange_stream(s->call->ex, &s->message, NULL);
    sf_buf_reset(&s->message);
    s->next_ns = sf_clock_mono_ns() + UPDATE_NS;
    return is_sent;
}

void sf_stream_note_partial(struct sf_stream *s, sf_str note)
{
    if (!s->has_told)
        sf_response_header(s->call->response, "x-spanflame-partial", note);
}

void sf_stream_add_last(struct sf_stream *s, struct sf_buf *message)
{
    struct sf_response *r = s->call->response;
    uint8_t *prefix = sf_buf_take(&r->body, SF_GRPC_PREFIX_LEN);
    if (prefix && message->len <= UINT32_MAX)
        sf_grpc_write_prefix(prefix, (uint32_t)message->len, false);
    sf_buf_add(&r->body, message->p, message->len);
    if (!sf_buf_ok(message) && !r->body.err)
        r->body.err = message->err;
    r->is_framed = true;
    sf_buf_reset(message);
}

bool sf_stream_finish(struct sf_stream *s)
{
    struct sf_why why;
    enum sf_err err = s->call->response->body.err;
    sf_buf_done(&s->message);
    if (!err)
        return true;
    sf_fail(&why, err, "the answer does not fit a query's memory");
    return sf_call_fail(s->call, err, &why);
}
