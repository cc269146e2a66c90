#include "serve/call.h"

#include <stdio.h>

#include "exec/tenant.h"
#include "intake/quota.h"
#include "os/clock.h"
#include "serve/long_answer.h"
#include "serve/router.h"

/* Adds a note when code in the answer has no function names yet. */
static void say_naming(const struct sf_call *call)
{
    if (call->naming.n_pending && !call->is_answer_begun && call->response->status < 300)
        sf_response_header(call->response, "x-spanflame-symbols",
                           SF_STR("some frames have no names yet: their symbol files are being "
                                  "read or fetched; retry"));
}

/* Added once: the answer may already contain it in another form. */
void sf_call_say_unread(const struct sf_call *call)
{
    struct sf_response *r = call->response;
    char said[200];
    if (!call->unread.n || call->is_answer_begun)
        return;
    for (uint32_t i = 0; i < r->n_headers; i++) {
        if (sf_str_ieq(r->headers[i].name, SF_STR("x-spanflame-partial")))
            return;
    }
    sf_unread_say(&call->unread, said, sizeof(said));
    sf_response_header(r, "x-spanflame-partial", sf_str_from(said));
}

void sf_call_finish(struct sf_call *call)
{
    struct sf_counters *counters = call->service->counters;
    const struct sf_response *r = call->response;
    int64_t ns = sf_clock_mono_ns() - call->started_ns;
    int status = r->status;
    if (call->form == SF_FORM_GRPC ||
        call->form == SF_FORM_GRPC_WEB) /* the HTTP status is always 200: count the gRPC status */
        status = sf_router_http_of_grpc(r->grpc_status);
    sf_counters_request(counters, sf_router_place(call->route), sf_router_label(call->route),
                        status, ns > 0 ? (uint64_t)ns : 0);
    say_naming(call);
    sf_call_say_unread(call);
    sf_long_answer_move(call);
    if (call->has_query_place)
        sf_quota_query_end(call->service->quota, call->tenant);
    sf_exchange_finish(call->ex);
}

static enum sf_count reason_of(enum sf_err err)
{
    switch (err) {
    case SF_ERR_INPUT: return SF_COUNT_REJECT_MALFORMED;
    case SF_ERR_LIMIT: return SF_COUNT_REJECT_TOO_LARGE;
    case SF_ERR_BUSY: return SF_COUNT_REJECT_PRESSURE;
    case SF_ERR_FULL:
    case SF_ERR_IO: return SF_COUNT_REJECT_DISK;
    case SF_ERR_DENIED: return SF_COUNT_REJECT_DENIED;
    case SF_ERR_UNSUPPORTED: return SF_COUNT_REJECT_ENCODING;
    default: return SF_COUNT_REJECT_INTERNAL;
    }
}

enum sf_err sf_call_body(struct sf_call *call, size_t max_len, const char *what, sf_str *out,
                         struct sf_why *why)
{
    const struct sf_exchange_body *body = sf_exchange_body(call->ex);
    if (call->request->coding != SF_CODING_NONE)
        return sf_fail(why, SF_ERR_UNSUPPORTED, "send this body without content-encoding");
    if (body->is_spooled || body->len > max_len)
        return sf_fail(why, SF_ERR_LIMIT, "%s may have %zu bytes", what, max_len);
    *out = sf_bytes_str(body->memory);
    return SF_OK;
}

enum sf_err sf_call_unknown(const struct sf_call *call, enum sf_err err, struct sf_why *why)
{
    struct sf_why known = *why;
    char said[200];
    if (err != SF_ERR_NOT_FOUND || !call->unread.is_away)
        return err;
    sf_unread_say(&call->unread, said, sizeof(said));
    return sf_fail(why, SF_ERR_IO, "not known: %.100s, but %.120s",
                   known.text[0] ? known.text : sf_err_name(err), said);
}

/* An arena of the query is full: what the caller can do about it. */
static void call_add_way_out(const struct sf_call *call, struct sf_why *why)
{
    struct sf_why full;
    sf_no_room(&full, "the query");
    if (strcmp(why->text, full.text) == 0)
        sf_fail(why, SF_ERR_LIMIT,
                "query: needs more than %zu MiB of memory; narrow the time range or ask for less, "
                "or raise limits.query_memory",
                call->service->query_memory_len >> 20);
}

bool sf_call_fail(struct sf_call *call, enum sf_err err, const struct sf_why *why)
{
    struct sf_why unknown = why ? *why : (struct sf_why){0};
    if (err == SF_ERR_LIMIT)
        call_add_way_out(call, &unknown);
    if (sf_account_has_refused()) /* this answer is discarded: see query_turn.c */
        return true;
    if (err != SF_ERR_NOT_FOUND && err != SF_ERR_CANCELLED)
        sf_counters_add(call->service->counters, reason_of(err), 1);
    if (err == SF_ERR_IO || err == SF_ERR_CORRUPT || err == SF_ERR_NOMEM)
        sf_service_say(call->service, SF_SAY_ERROR, "serve: %s: %s", sf_router_label(call->route),
                       why && why->text[0] ? why->text : sf_err_name(err));
    if (err == SF_ERR_UNSUPPORTED && !(call->route && call->route->is_otlp)) {
        /* The body is readable, but the query is not supported. */
        struct sf_outcome outcome = {501, SF_GRPC_UNIMPLEMENTED, 0};
        sf_status_answer(call->response, call->form, outcome, why ? why->text : "unsupported");
        return true;
    }
    err = sf_call_unknown(call, err, &unknown);
    sf_status_fail(call->response, call->form, err, &unknown);
    return true;
}

bool sf_call_refuse(struct sf_call *call, enum sf_count reason, struct sf_outcome status,
                    const char *sentence)
{
    sf_counters_add(call->service->counters, reason, 1);
    sf_status_answer(call->response, call->form, status, sentence);
    return true;
}

void sf_call_note_limit(struct sf_call *call, uint64_t limit, uint32_t n_traces)
{
    char text[80];
    if (n_traces < limit)
        return;
    snprintf(text, sizeof(text), "the newest %u traces are given; older ones may match too",
             n_traces);
    sf_response_header(call->response, "x-spanflame-limit", sf_str_from(text));
}

void sf_call_ok(struct sf_call *call, const char *content_type)
{
    call->response->status = 200;
    call->response->grpc_status = SF_GRPC_OK;
    call->response->content_type = content_type;
}

enum sf_err sf_call_query_own(struct sf_service *s, sf_str tenant, const atomic_bool *cancel,
                              struct sf_worker *worker, uint32_t *tenants, struct sf_query_ctx *out,
                              struct sf_why *why)
{
    struct sf_store *store = atomic_load(&s->store);
    int64_t now_ns = sf_clock_mono_ns();
    size_t n = 0;
    enum sf_err err = sf_tenant_find(store, tenant, false, tenants, &n, why);
    if (err)
        return err;
    *out = (struct sf_query_ctx){.tenants = tenants,
                                 .n_tenants = n,
                                 .deadline_ns = now_ns + s->query_ns,
                                 .begun_ns = now_ns,
                                 .cancel = cancel,
                                 .req = &worker->arena,
                                 .is_exact = true};
    return SF_OK;
}

enum sf_err sf_call_query(struct sf_call *call, struct sf_worker *worker, uint32_t *tenants,
                          struct sf_query_ctx *out, struct sf_why *why)
{
    int64_t asked_ns = call->request->deadline_ns;
    enum sf_err err = sf_call_query_own(call->service, call->tenant, sf_exchange_cancel(call->ex),
                                        worker, tenants, out, why);
    if (!err && asked_ns > 0 && asked_ns < out->deadline_ns)
        out->deadline_ns = asked_ns;
    if (!err) {
        out->naming = &call->naming;
        out->unread = &call->unread;
        /* A query that is cut off at its deadline may still write what it has found. */
        worker->until_ns = out->deadline_ns + call->service->query_ns / 4;
        worker->cancel = out->cancel;
    }
    return err;
}

enum sf_err sf_call_check_data(const struct sf_query_ctx *q, struct sf_why *why)
{
    return q->n_tenants > 0 ? SF_OK
                            : sf_fail(why, SF_ERR_NOT_FOUND,
                                      "this tenant has no data: nothing was sent for it yet");
}
