#include "serve/connect.h"

#include "serve/grpc_web.h"
#include "wire/inflate.h"

bool sf_connect_is_json(const struct sf_call *call)
{
    return call->form != SF_FORM_GRPC &&
           sf_str_ieq(call->request->content_type, SF_STR("application/json"));
}

static bool is_proto(const struct sf_call *call)
{
    return sf_str_ieq(call->request->content_type, SF_STR("application/proto")) ||
           sf_str_ieq(call->request->content_type, SF_STR("application/x-protobuf"));
}

bool sf_connect_admit(struct sf_call *call)
{
    sf_str version = sf_request_header(call->request, SF_STR("connect-protocol-version"));
    if (call->form == SF_FORM_GRPC || call->form == SF_FORM_GRPC_WEB)
        return true;
    if (!sf_connect_is_json(call) && !is_proto(call)) {
        sf_response_header(call->response, "accept-post",
                           SF_STR("application/proto, application/json, application/grpc, "
                                  "application/grpc-web"));
        sf_call_refuse(call, SF_COUNT_REJECT_CONTENT_TYPE, sf_status_content_type,
                       "send application/proto or application/json");
        call->response->status = 415;
        return false;
    }
    if (version.len && !sf_str_eq(version, SF_STR("1"))) {
        sf_call_refuse(call, SF_COUNT_REJECT_MALFORMED, sf_status_of(SF_ERR_INPUT),
                       "connect-protocol-version must be 1");
        return false;
    }
    return true;
}

enum sf_err sf_connect_body(struct sf_call *call, size_t max_len, struct sf_arena *req, sf_str *out,
                            struct sf_why *why)
{
    const struct sf_exchange_body *body = sf_exchange_body(call->ex);
    enum sf_coding coding = call->request->coding;
    struct sf_inflate *z;
    struct sf_buf plain = {0};
    size_t got = 0;
    char *p;
    enum sf_err err;
    if (body->len > max_len)
        return sf_fail(why, SF_ERR_LIMIT, "a request of %llu bytes is too large",
                       (unsigned long long)body->len);
    if (coding == SF_CODING_OTHER)
        return sf_fail(why, SF_ERR_UNSUPPORTED,
                       "unknown content encoding: gzip, zstd, deflate and identity are read");
    p = sf_arena_raw(req, (size_t)body->len + 1, 1);
    if (!p)
        return sf_no_room(why, "a question");
    err = sf_exchange_body_read(call->ex, 0, p, (size_t)body->len, &got, why);
    *out = (sf_str){p, got};
    if (!err && call->form == SF_FORM_GRPC_WEB)
        err = sf_grpc_web_message(call->request, out, &coding, why);
    if (err || coding == SF_CODING_NONE || out->len == 0)
        return err;
    z = sf_inflate_new();
    err = z ? sf_inflate_bytes(z,
                               coding == SF_CODING_GZIP   ? SF_INFLATE_GZIP
                               : coding == SF_CODING_ZSTD ? SF_INFLATE_ZSTD
                                                          : SF_INFLATE_ZLIB,
                               sf_str_bytes(*out), max_len, &plain, why)
            : sf_fail(why, SF_ERR_NOMEM, "no memory to inflate");
    if (!err && !sf_arena_copy(req, sf_buf_str(&plain), out))
        err = sf_no_room(why, "a question");
    sf_inflate_free(z);
    sf_buf_done(&plain);
    return err;
}

void sf_connect_ok(struct sf_call *call)
{
    sf_call_ok(call, call->form == SF_FORM_GRPC       ? "application/grpc"
                     : call->form == SF_FORM_GRPC_WEB ? SF_GRPC_WEB_TYPE
                     : sf_connect_is_json(call)       ? "application/json"
                                                      : "application/proto");
    if (call->form == SF_FORM_GRPC_WEB)
        sf_grpc_web_frame(call->response);
}
