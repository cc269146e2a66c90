#include "serve/jaeger/jaeger_answer.h"

#include "serve/long_answer.h"

struct sf_jaeger_answer sf_jaeger_answer_begin(struct sf_call *call, bool is_v3)
{
    struct sf_jaeger_answer a = {.call = call, .is_v3 = is_v3};
    sf_call_ok(call, "application/json");
    a.w = sf_json_writer_init(&call->response->body);
    if (is_v3)
        return a;
    sf_json_write_object(&a.w);
    sf_json_write_key(&a.w, SF_STR("data"));
    sf_json_write_array(&a.w);
    return a;
}

void sf_jaeger_answer_error(struct sf_jaeger_answer *a, int code, sf_str message, sf_str id)
{
    struct sf_json_writer w = sf_json_writer_init(&a->errors);
    w.needs_comma = a->errors.len > 0;
    sf_json_write_object(&w);
    sf_json_write_key_u64(&w, SF_STR("code"), (uint64_t)code);
    sf_json_write_key_str(&w, SF_STR("msg"), message);
    if (id.len)
        sf_json_write_key_str(&w, SF_STR("traceID"), id);
    sf_json_write_object_end(&w);
}

static void end_envelope(struct sf_json_writer *w, uint32_t n, const struct sf_buf *errors)
{
    sf_json_write_key_u64(w, SF_STR("total"), n);
    sf_json_write_key_u64(w, SF_STR("limit"), 0);
    sf_json_write_key_u64(w, SF_STR("offset"), 0);
    sf_json_write_key(w, SF_STR("errors"));
    if (errors->len) {
        sf_json_write_array(w);
        sf_json_write_raw(w, sf_buf_str(errors));
        sf_json_write_array_end(w);
    } else {
        sf_json_write_null(w);
    }
    sf_json_write_object_end(w);
}

bool sf_jaeger_answer_end(struct sf_jaeger_answer *a)
{
    struct sf_why why;
    enum sf_err err;
    if (!a->is_v3) {
        sf_json_write_array_end(&a->w);
        end_envelope(&a->w, a->n, &a->errors);
    }
    err = a->call->response->body.err ? a->call->response->body.err : a->errors.err;
    sf_buf_done(&a->errors);
    if (!err || a->call->is_answer_begun)
        return sf_long_answer_end(a->call);
    sf_fail(&why, err, "the answer does not fit a query's memory");
    return sf_jaeger_answer_fail(a->call, a->is_v3, err, &why, SF_STR_NONE);
}

bool sf_jaeger_answer_fail(struct sf_call *call, bool is_v3, enum sf_err err,
                           const struct sf_why *why, sf_str id)
{
    struct sf_jaeger_answer a = {.call = call};
    sf_call_fail(call, err, why); /* status, counters, and the text for v3 */
    if (is_v3)
        return true;
    sf_jaeger_answer_error(&a, call->response->status,
                           sf_str_from(why->text[0] ? why->text : sf_err_name(err)), id);
    sf_buf_reset(&call->response->body);
    call->response->content_type = "application/json";
    a.w = sf_json_writer_init(&call->response->body);
    sf_json_write_object(&a.w);
    sf_json_write_key(&a.w, SF_STR("data"));
    sf_json_write_null(&a.w);
    end_envelope(&a.w, 0, &a.errors);
    sf_buf_done(&a.errors);
    return true;
}
