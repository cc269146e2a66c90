#include "serve/tempo/tags.h"

#include "exec/tags.h"
#include "exec/tenant.h"
#include "render/tags_result.h"
#include "serve/tempo/stream.h"
#include "serve/tempo/tags_ask.h"

enum { VALUES_A_MESSAGE = 20000 };

/* The v1 list of names contains intrinsics only when they are requested. */
static void drop_intrinsics(struct sf_tags_result *r)
{
    if (r->n_scopes && r->scopes[r->n_scopes - 1].scope == SF_SCOPE_INTRINSIC)
        r->n_scopes--;
}

static enum sf_err tags_find(struct sf_call *call, const struct sf_tags_ask *a,
                             struct sf_query_ctx *q, struct sf_tags_result *out, struct sf_why *why)
{
    struct sf_store *store = atomic_load(&call->service->store);
    struct sf_arena scratch = {0};
    struct sf_tags tags = a->tags;
    enum sf_err err;
    if (q->n_tenants == 0)
        return SF_OK; /* a tenant without any data */
    if (!sf_arena_init(&scratch, call->service->query_memory_len))
        return sf_no_memory(why, "the query");
    tags.scratch = &scratch;
    err = sf_tags_ask_is_names(a->form) ? sf_tags_names(store, &tags, a->scope, q, out, why)
                                        : sf_tags_values(store, &tags, &a->attr, q, out, why);
    sf_arena_done(&scratch);
    if (!err && a->form == SF_TAGS_NAMES_V1 && a->scope == SF_SCOPE_ANY)
        drop_intrinsics(out);
    return err;
}

static bool tags_handle(struct sf_call *call, struct sf_worker *worker, enum sf_tags_form form)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q = {0};
    struct sf_tags_ask a = {.form = form};
    struct sf_tags_result result = {0};
    struct sf_why why = {0};
    size_t at;
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        err = sf_tags_ask_params(call->request, call->arg, q.req, &a, &why);
    if (!err)
        err = tags_find(call, &a, &q, &result, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    if (sf_str_find(sf_request_header(call->request, SF_STR("accept")),
                    SF_STR("application/protobuf"), &at)) {
        sf_call_ok(call, "application/protobuf");
        sf_tags_result_pb(&result, form, &call->response->body);
    } else {
        sf_call_ok(call, "application/json");
        sf_tags_result_json(&result, form, &call->response->body);
    }
    /* Clients reject unknown fields, so truncation is reported in a header. */
    if (result.is_partial)
        sf_response_header(call->response, "x-spanflame-partial", result.note);
    err = call->response->body.err;
    if (err) {
        sf_fail(&why, err, "the answer does not fit a query's memory");
        return sf_call_fail(call, err, &why);
    }
    return true;
}

/* Sends all names or values at once: they are found together, so there is no progress to report. */
static void say_all(struct sf_stream *s, const struct sf_tags_result *all, enum sf_tags_form form)
{
    struct sf_tags_result part = *all;
    uint32_t at = 0;
    do {
        uint32_t n = all->n_values - at;
        part.n_values = n < VALUES_A_MESSAGE ? n : VALUES_A_MESSAGE;
        part.values = all->values ? all->values + at : NULL;
        at += part.n_values;
        sf_tags_result_pb(&part, form, &s->message);
        sf_stream_add_last(s, &s->message);
    } while (at < all->n_values);
}

static bool tags_stream(struct sf_call *call, struct sf_worker *worker, enum sf_tags_form form)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q = {0};
    struct sf_stream s = {.call = call};
    struct sf_tags_ask a = {.form = form};
    struct sf_tags_result result = {0};
    struct sf_why why = {0};
    sf_bytes message;
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    sf_stream_begin(&s);
    if (!err)
        err = sf_stream_request(call, q.req, &message, &why);
    if (!err)
        err = sf_tags_ask_message(message, q.req, &a, &why);
    sf_counters_add(call->service->counters, SF_COUNT_UNKNOWN_TEMPO, a.n_unknown);
    if (!err)
        err = tags_find(call, &a, &q, &result, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    if (result.is_partial)
        sf_stream_note_partial(&s, result.note);
    say_all(&s, &result, form);
    return sf_stream_finish(&s);
}

bool sf_tags_handle_names_v1(struct sf_call *call, struct sf_worker *worker)
{
    return tags_handle(call, worker, SF_TAGS_NAMES_V1);
}

bool sf_tags_handle_names_v2(struct sf_call *call, struct sf_worker *worker)
{
    return tags_handle(call, worker, SF_TAGS_NAMES_V2);
}

bool sf_tags_handle_values_v1(struct sf_call *call, struct sf_worker *worker)
{
    return tags_handle(call, worker, SF_TAGS_VALUES_V1);
}

bool sf_tags_handle_values_v2(struct sf_call *call, struct sf_worker *worker)
{
    return tags_handle(call, worker, SF_TAGS_VALUES_V2);
}

bool sf_tags_stream_names_v1(struct sf_call *call, struct sf_worker *worker)
{
    return tags_stream(call, worker, SF_TAGS_NAMES_V1);
}

bool sf_tags_stream_names_v2(struct sf_call *call, struct sf_worker *worker)
{
    return tags_stream(call, worker, SF_TAGS_NAMES_V2);
}

bool sf_tags_stream_values_v1(struct sf_call *call, struct sf_worker *worker)
{
    return tags_stream(call, worker, SF_TAGS_VALUES_V1);
}

bool sf_tags_stream_values_v2(struct sf_call *call, struct sf_worker *worker)
{
    return tags_stream(call, worker, SF_TAGS_VALUES_V2);
}
