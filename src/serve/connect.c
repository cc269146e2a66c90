#include "serve/connect.h"

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
    if (call->form == SF_FORM_GRPC)
        return true;
    if (!sf_connect_is_json(call) && !is_proto(call)) {
        sf_response_header(call->response, "accept-post",
                           SF_STR("application/proto, application/json, application/grpc"));
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

void sf_connect_ok(struct sf_call *call)
{
    sf_call_ok(call, call->form == SF_FORM_GRPC ? "application/grpc"
                     : sf_connect_is_json(call) ? "application/json"
                                                : "application/proto");
}
