#include "serve/grpc_web.h"

#include <string.h>

#include "base/num.h"
#include "http/grpc.h"

enum { TRAILERS = 0x80 };

bool sf_grpc_web_is(const struct sf_request *r)
{
    return sf_str_ieq(r->content_type, SF_STR("application/grpc-web")) ||
           sf_str_ieq(r->content_type, SF_STR(SF_GRPC_WEB_TYPE));
}

enum sf_err sf_grpc_web_message(const struct sf_request *r, sf_str *io_body, enum sf_coding *out,
                                struct sf_why *why)
{
    sf_str body = *io_body;
    uint8_t flag = body.len ? (uint8_t)body.p[0] : 0;
    if (body.len < SF_GRPC_PREFIX_LEN || flag > 1 ||
        sf_load_u32be(body.p + 1) != body.len - SF_GRPC_PREFIX_LEN)
        return sf_fail(why, SF_ERR_INPUT, "gRPC-Web: the body is not one whole frame");
    *out = SF_CODING_NONE;
    if (flag == 1 && !sf_grpc_coding(sf_request_header(r, SF_STR("grpc-encoding")), out))
        return sf_fail(why, SF_ERR_UNSUPPORTED,
                       "gRPC-Web: unknown encoding of a message; " SF_GRPC_ACCEPT_ENCODING
                       " are read");
    *io_body = sf_str_from_at(body, SF_GRPC_PREFIX_LEN);
    return SF_OK;
}

static void grpc_web_add_frame(struct sf_buf *out, uint8_t flag, sf_str content)
{
    uint8_t prefix[SF_GRPC_PREFIX_LEN];
    sf_grpc_write_prefix(prefix, (uint32_t)content.len, false);
    prefix[0] = flag;
    sf_buf_add(out, prefix, sizeof(prefix));
    sf_buf_add_str(out, content);
}

void sf_grpc_web_frame(struct sf_response *r)
{
    struct sf_buf body = {0}, lines = {0};
    struct sf_header trailers[SF_GRPC_TRAILERS_MAX];
    size_t n = sf_grpc_trailers(r, &r->text, trailers);
    if (r->grpc_status == SF_GRPC_OK)
        grpc_web_add_frame(&body, 0, sf_buf_str(&r->body));
    for (size_t i = 0; i < n; i++)
        sf_buf_print(&lines, "%.*s: %.*s\r\n", SF_STR_ARG(trailers[i].name),
                     SF_STR_ARG(trailers[i].val));
    grpc_web_add_frame(&body, TRAILERS, sf_buf_str(&lines));
    if (n == 0 || !sf_buf_ok(&lines))
        body.err = SF_ERR_NOMEM;
    sf_buf_done(&lines);
    sf_buf_done(&r->body);
    r->body = body;
}
