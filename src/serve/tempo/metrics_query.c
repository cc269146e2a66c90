#include "serve/tempo/metrics_query.h"

#include "exec/metrics.h"
#include "exec/tenant.h"
#include "query/query_parse.h"
#include "render/metrics_result.h"
#include "serve/tempo/metrics_ask.h"
#include "serve/tempo/stream.h"

enum { DEFAULT_EXEMPLARS = 100 };

static uint32_t at_most(uint64_t v, uint32_t max)
{
    return v < max ? (uint32_t)v : max;
}

/* ---- progress ---- */

struct progress {
    struct sf_stream stream;
    bool is_instant;
};

static bool metrics_query_wants_progress(void *arg)
{
    struct progress *p = arg;
    return sf_stream_is_due(&p->stream);
}

/* Updates that a slow client misses are repeated at the end. */
static void metrics_query_on_progress(void *arg, const struct sf_metrics_result *changed)
{
    struct progress *p = arg;
    sf_metrics_result_pb_part(changed, p->is_instant, 0, SF_STREAM_MESSAGE_LEN, &p->stream.message);
    sf_stream_tell(&p->stream);
}

/* ---- the answer ---- */

static enum sf_err metrics_query_run(struct sf_call *call, struct sf_worker *worker,
                                     const struct sf_metrics_params *a, struct progress *progress,
                                     struct sf_metrics_result *out, struct sf_why *why)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q = {0};
    struct sf_arena scratch = {0};
    struct sf_metrics_ask ask = {.window = a->window,
                                 .max_series = at_most(a->max_series, UINT32_MAX),
                                 .n_exemplars = a->n_exemplars
                                                    ? at_most(a->n_exemplars, DEFAULT_EXEMPLARS)
                                                    : DEFAULT_EXEMPLARS,
                                 .scratch = &scratch,
                                 .wants_progress = progress ? metrics_query_wants_progress : NULL,
                                 .on_progress = metrics_query_on_progress,
                                 .progress_arg = progress};
    enum sf_err err = sf_call_query(call, worker, tenants, &q, why);
    if (err)
        return err;
    err = sf_query_parse(sf_buf_str(&a->query), q.req, &ask.query, NULL, why);
    if (err) {
        sf_why_prefix(why, "invalid TraceQL query");
        return SF_ERR_INPUT;
    }
    if (!ask.query->metrics)
        return sf_fail(why, SF_ERR_INPUT,
                       "invalid TraceQL query: not a metrics query: end it with | rate() or "
                       "another metrics function");
    if (q.n_tenants == 0)
        return SF_OK; /* a tenant without any data */
    if (!sf_arena_init(&scratch, call->service->query_memory_len))
        return sf_no_memory(why, "the query");
    err = sf_metrics_run(atomic_load(&call->service->store), &ask, &q, out, why);
    sf_arena_done(&scratch);
    return err;
}

static bool metrics_query_answer(struct sf_call *call, struct sf_worker *worker, bool is_instant)
{
    struct sf_metrics_params a = {0};
    struct sf_metrics_result result = {0};
    struct sf_why why = {0};
    enum sf_err err = sf_metrics_ask_params(call->request, is_instant, &a, &why);
    if (!err)
        err = metrics_query_run(call, worker, &a, NULL, &result, &why);
    sf_metrics_ask_done(&a);
    if (err)
        return sf_call_fail(call, err, &why);
    sf_call_ok(call, "application/json"); /* always JSON, regardless of the Accept header */
    if (is_instant)
        sf_metrics_result_instant_json(&result, &call->response->body);
    else
        sf_metrics_result_range_json(&result, &call->response->body);
    err = call->response->body.err;
    if (err) {
        sf_fail(&why, err, "the answer does not fit a query's memory");
        return sf_call_fail(call, err, &why);
    }
    return true;
}

static bool metrics_query_stream(struct sf_call *call, struct sf_worker *worker, bool is_instant)
{
    struct sf_metrics_params a = {0};
    struct sf_metrics_result result = {0};
    struct progress p = {.stream = {.call = call}, .is_instant = is_instant};
    struct sf_why why = {0};
    sf_bytes message;
    uint32_t at = 0;
    enum sf_err err = sf_stream_request(call, &worker->arena, &message, &why);
    sf_stream_begin(&p.stream);
    if (!err)
        err = sf_metrics_ask_message(message, is_instant, &a, &why);
    sf_counters_add(call->service->counters, SF_COUNT_UNKNOWN_TEMPO, a.n_unknown);
    if (!err)
        err = metrics_query_run(call, worker, &a, &p, &result, &why);
    sf_metrics_ask_done(&a);
    if (err) {
        sf_buf_done(&p.stream.message);
        return sf_call_fail(call, err, &why);
    }
    do {
        at = sf_metrics_result_pb_part(&result, is_instant, at, SF_STREAM_MESSAGE_LEN,
                                       &p.stream.message);
        sf_stream_add_last(&p.stream, &p.stream.message);
    } while (at < result.n_series);
    return sf_stream_finish(&p.stream);
}

bool sf_metrics_query_range(struct sf_call *call, struct sf_worker *worker)
{
    return metrics_query_answer(call, worker, false);
}

bool sf_metrics_query_instant(struct sf_call *call, struct sf_worker *worker)
{
    return metrics_query_answer(call, worker, true);
}

bool sf_metrics_query_stream_range(struct sf_call *call, struct sf_worker *worker)
{
    return metrics_query_stream(call, worker, false);
}

bool sf_metrics_query_stream_instant(struct sf_call *call, struct sf_worker *worker)
{
    return metrics_query_stream(call, worker, true);
}
