#include "serve/status.h"

#include <stdio.h>

#include "serve/grpc_web.h"
#include "wire/json_write.h"
#include "wire/pb_write.h"

static const struct sf_outcome table[SF_ERR_N] = {
    [SF_OK] = {200, SF_GRPC_OK, 0},
    [SF_ERR_INPUT] = {400, SF_GRPC_INVALID_ARGUMENT, 0},
    [SF_ERR_LIMIT] = {413, SF_GRPC_RESOURCE_EXHAUSTED, 0},
    [SF_ERR_BUSY] = {429, SF_GRPC_RESOURCE_EXHAUSTED, 1},
    [SF_ERR_FULL] = {503, SF_GRPC_UNAVAILABLE, 10},
    [SF_ERR_DENIED] = {403, SF_GRPC_PERMISSION_DENIED, 0},
    [SF_ERR_NOT_FOUND] = {404, SF_GRPC_NOT_FOUND, 0},
    [SF_ERR_DEADLINE] = {504, SF_GRPC_DEADLINE_EXCEEDED, 0},
    [SF_ERR_CANCELLED] = {499, SF_GRPC_CANCELLED, 0},
    /* The sender still has the data that could not be stored: it should retry, not drop it. */
    [SF_ERR_IO] = {503, SF_GRPC_UNAVAILABLE, 5},
    [SF_ERR_CORRUPT] = {500, SF_GRPC_INTERNAL, 0},
    [SF_ERR_NOMEM] = {503, SF_GRPC_UNAVAILABLE, 5},
    [SF_ERR_UNSUPPORTED] = {415, SF_GRPC_UNIMPLEMENTED, 0},
};

const struct sf_outcome sf_status_unauthenticated = {401, SF_GRPC_UNAUTHENTICATED, 0};
const struct sf_outcome sf_status_denied = {403, SF_GRPC_PERMISSION_DENIED, 0};
/* With another status, a client might retry the same request. */
const struct sf_outcome sf_status_misdirected = {421, SF_GRPC_PERMISSION_DENIED, 0};
const struct sf_outcome sf_status_no_route = {404, SF_GRPC_UNIMPLEMENTED, 0};
const struct sf_outcome sf_status_bad_method = {405, SF_GRPC_UNIMPLEMENTED, 0};
const struct sf_outcome sf_status_content_type = {415, SF_GRPC_UNIMPLEMENTED, 0};
const struct sf_outcome sf_status_overloaded = {429, SF_GRPC_RESOURCE_EXHAUSTED, 1};
/* The quota is used up: without Retry-After, since something has to be deleted first. */
const struct sf_outcome sf_status_quota = {429, SF_GRPC_RESOURCE_EXHAUSTED, 0};
const struct sf_outcome sf_status_unavailable = {503, SF_GRPC_UNAVAILABLE, 2};

static const struct {
    const char *name;
    int http;
} connect_codes[] = {{"ok", 200},
                     {"canceled", 499},
                     {"unknown", 500},
                     {"invalid_argument", 400},
                     {"deadline_exceeded", 504},
                     {"not_found", 404},
                     {"already_exists", 409},
                     {"permission_denied", 403},
                     {"resource_exhausted", 429},
                     {"failed_precondition", 400},
                     {"aborted", 409},
                     {"out_of_range", 400},
                     {"unimplemented", 501},
                     {"internal", 500},
                     {"unavailable", 503},
                     {"data_loss", 500},
                     {"unauthenticated", 401}};

static size_t status_code_of(int grpc)
{
    return grpc > 0 && (size_t)grpc < sizeof(connect_codes) / sizeof(connect_codes[0])
               ? (size_t)grpc
               : SF_GRPC_UNKNOWN;
}

struct sf_outcome sf_status_of(enum sf_err err)
{
    return table[err < SF_ERR_N ? err : SF_ERR_CORRUPT];
}

void sf_status_answer(struct sf_response *r, enum sf_error_form form, struct sf_outcome status,
                      const char *sentence)
{
    struct sf_json_writer w;
    sf_str text = sf_str_from(sentence);
    /* Over HTTP "resource exhausted" means 429, retry later; what is too large stays too large. */
    bool is_too_large = status.http == 413 &&
                        (form == SF_FORM_CONNECT || form == SF_FORM_GRPC_WEB ||
                         form == SF_FORM_PYROSCOPE);
    status.grpc = is_too_large ? SF_GRPC_INVALID_ARGUMENT : status.grpc;
    r->body.spill = NULL;
    sf_buf_reset(&r->body);
    sf_buf_reset(&r->grpc_details);
    r->status = status.http;
    r->grpc_status = status.grpc;
    r->retry_after_s = status.retry_after_s;
    switch (form) {
    case SF_FORM_GRPC:
        r->status = 200;
        r->content_type = "application/grpc";
        snprintf(r->grpc_message, sizeof(r->grpc_message), "%s", sentence);
        return;
    case SF_FORM_GRPC_WEB:
        r->status = 200;
        r->content_type = SF_GRPC_WEB_TYPE;
        snprintf(r->grpc_message, sizeof(r->grpc_message), "%s", sentence);
        sf_grpc_web_frame(r);
        return;
    case SF_FORM_OTLP_PB:
        r->content_type = "application/x-protobuf";
        sf_pb_write_u64(&r->body, 1, (uint64_t)status.grpc);
        sf_pb_write_str(&r->body, 2, text);
        return;
    case SF_FORM_OTLP_JSON:
        r->content_type = "application/json";
        w = sf_json_writer_init(&r->body);
        sf_json_write_object(&w);
        sf_json_write_key_u64(&w, SF_STR("code"), (uint64_t)status.grpc);
        sf_json_write_key_str(&w, SF_STR("message"), text);
        sf_json_write_object_end(&w);
        return;
    case SF_FORM_CONNECT:
        r->status = connect_codes[status_code_of(status.grpc)].http;
        /* fall through */
    case SF_FORM_PYROSCOPE:
        r->content_type = "application/json";
        w = sf_json_writer_init(&r->body);
        sf_json_write_object(&w);
        sf_json_write_key_str(&w, SF_STR("code"),
                              sf_str_from(connect_codes[status_code_of(status.grpc)].name));
        sf_json_write_key_str(&w, SF_STR("message"), text);
        sf_json_write_object_end(&w);
        return;
    case SF_FORM_TEXT: break;
    }
    r->content_type = "text/plain; charset=utf-8";
    sf_buf_add_str(&r->body, text);
    sf_buf_add_u8(&r->body, '\n');
}

void sf_status_fail(struct sf_response *r, enum sf_error_form form, enum sf_err err,
                    const struct sf_why *why)
{
    sf_status_answer(r, form, sf_status_of(err),
                     why && why->text[0] ? why->text : sf_err_name(err));
}
