#include "serve/tempo/search.h"

#include <stdio.h>

#include "exec/search.h"
#include "exec/tenant.h"
#include "query/query_parse.h"
#include "render/search_result.h"
#include "serve/tempo/search_ask.h"
#include "serve/tempo/stream.h"

/* Progress of a search: the traces found since the last update. */
struct progress {
    struct sf_stream stream;
    uint32_t n_told;
};

static bool search_wants_progress(void *arg)
{
    struct progress *p = arg;
    return sf_stream_is_due(&p->stream);
}

static void search_on_progress(void *arg, const struct sf_search_result *so_far)
{
    struct progress *p = arg;
    struct sf_search_result fresh = *so_far;
    uint32_t n_written;
    fresh.traces = so_far->n_traces ? so_far->traces + p->n_told : NULL;
    fresh.n_traces = so_far->n_traces - p->n_told;
    n_written = sf_search_result_pb_part(&fresh, 0, SF_STREAM_MESSAGE_LEN, &p->stream.message);
    if (sf_stream_tell(&p->stream))
        p->n_told += n_written;
}

static enum sf_err search_run(struct sf_call *call, struct sf_worker *worker,
                              const struct sf_search_ask *a, struct progress *progress,
                              struct sf_search_result *out, struct sf_why *why)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q = {0};
    struct sf_arena scratch = {0};
    struct sf_search search = {.from_ns = a->from_ns,
                               .to_ns = a->to_ns,
                               .limit = (uint32_t)a->limit,
                               .spans_per_set = (uint32_t)a->spans_per_set,
                               .scratch = &scratch,
                               .wants_progress = progress ? search_wants_progress : NULL,
                               .on_progress = search_on_progress,
                               .progress_arg = progress};
    enum sf_err err = sf_call_query(call, worker, tenants, &q, why);
    if (err)
        return err;
    err = sf_query_parse(sf_buf_str(&a->query), q.req, &search.query, NULL, why);
    if (err) {
        sf_why_prefix(why, "invalid TraceQL query");
        return SF_ERR_INPUT;
    }
    if (q.n_tenants == 0)
        return SF_OK; /* a tenant without any data */
    if (!sf_arena_init(&scratch, call->service->query_memory_len))
        return sf_no_memory(why, "the query");
    err = sf_search_run(atomic_load(&call->service->store), &search, &q, out, why);
    sf_arena_done(&scratch);
    return err;
}

bool sf_search_handle(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_search_ask a = {0};
    struct sf_search_result result = {0};
    struct sf_why why = {0};
    uint64_t limit;
    size_t at;
    enum sf_err err = sf_search_ask_params(call->request, &a, &why);
    if (!err)
        err = search_run(call, worker, &a, NULL, &result, &why);
    limit = a.limit;
    sf_search_ask_done(&a);
    if (err)
        return sf_call_fail(call, err, &why);
    if (sf_str_find(sf_request_header(call->request, SF_STR("accept")),
                    SF_STR("application/protobuf"), &at)) {
        sf_call_ok(call, "application/protobuf");
        sf_search_result_pb(&result, &call->response->body);
    } else {
        sf_call_ok(call, "application/json");
        sf_search_result_json(&result, &call->response->body);
    }
    /* Clients reject unknown fields, so truncation is reported in a header. */
    if (result.is_partial)
        sf_response_header(call->response, "x-spanflame-partial", result.note);
    sf_call_note_limit(call, limit, result.n_traces);
    err = call->response->body.err;
    if (err) {
        sf_fail(&why, err, "the answer does not fit a query's memory");
        return sf_call_fail(call, err, &why);
    }
    return true;
}

bool sf_search_stream(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_search_ask a = {0};
    struct sf_search_result result = {0};
    struct progress p = {.stream = {.call = call}};
    struct sf_why why = {0};
    sf_bytes message;
    uint64_t limit;
    uint32_t at = 0;
    enum sf_err err = sf_stream_request(call, &worker->arena, &message, &why);
    sf_stream_begin(&p.stream);
    if (!err)
        err = sf_search_ask_message(message, &a, &why);
    sf_counters_add(call->service->counters, SF_COUNT_UNKNOWN_TEMPO, a.n_unknown);
    if (!err)
        err = search_run(call, worker, &a, &p, &result, &why);
    limit = a.limit;
    sf_search_ask_done(&a);
    if (err) {
        sf_buf_done(&p.stream.message);
        return sf_call_fail(call, err, &why);
    }
    if (result.is_partial)
        sf_stream_note_partial(&p.stream, result.note);
    if (!p.stream.has_told)
        sf_call_note_limit(call, limit, result.n_traces);
    do {
        at = sf_search_result_pb_part(&result, at, SF_STREAM_MESSAGE_LEN, &p.stream.message);
        sf_stream_add_last(&p.stream, &p.stream.message);
    } while (at < result.n_traces);
    return sf_stream_finish(&p.stream);
}
