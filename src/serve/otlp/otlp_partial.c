#include "serve/otlp/otlp_partial.h"

#include "wire/json_write.h"
#include "wire/pb_write.h"

static void otlp_partial_write_json(const char *member, uint64_t n_rejected, sf_str message,
                                    struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    sf_json_write_object(&w);
    if (message.len) {
        sf_json_write_key(&w, SF_STR("partialSuccess"));
        sf_json_write_object(&w);
        if (n_rejected) {
            sf_json_write_key(&w, sf_str_from(member));
            sf_json_write_u64_text(&w, n_rejected);
        }
        sf_json_write_key_str(&w, SF_STR("errorMessage"), message);
        sf_json_write_object_end(&w);
    }
    sf_json_write_object_end(&w);
}

void sf_otlp_partial_write(const char *member, uint64_t n_rejected, sf_str message, bool is_json,
                           struct sf_buf *out)
{
    if (is_json) {
        otlp_partial_write_json(member, n_rejected, message, out);
    } else if (message.len) {
        size_t mark = sf_pb_write_begin(out, 1);
        if (n_rejected)
            sf_pb_write_u64(out, 1, n_rejected);
        sf_pb_write_str(out, 2, message);
        sf_pb_write_end(out, mark);
    }
}

void sf_otlp_partial_answer(struct sf_call *call, const char *member, uint64_t n_rejected,
                            sf_str message)
{
    bool is_json = call->form == SF_FORM_OTLP_JSON;
    sf_call_ok(call, call->form == SF_FORM_GRPC ? "application/grpc"
                     : is_json                  ? "application/json"
                                                : "application/x-protobuf");
    sf_otlp_partial_write(member, n_rejected, message, is_json, &call->response->body);
}
