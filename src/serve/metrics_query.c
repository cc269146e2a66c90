#include "serve/metrics_query.h"

#include "base/limits.h"
#include "exec/metrics.h"
#include "os/clock.h"
#include "query/lexer.h"
#include "query/query_parse.h"
#include "render/metrics_result.h"
#include "serve/tenant.h"
#include "wire/time_text.h"

#define S_NS 1000000000LL

enum { DEFAULT_EXEMPLARS = 100, VALUE_LEN = 4096 };

struct asked {
    struct sf_buf query; /* owned */
    struct sf_metrics_window window;
    uint64_t exemplars, max_series;
};

/* ---- parameters ---- */

/* A Go or Prometheus duration, or plain seconds. */
static bool parse_duration(sf_str text, int64_t *out_ns)
{
    struct sf_lexer lexer = {.text = text, .line = 1};
    struct sf_token token;
    /* Numbers need no arena; nothing else may reach the lexer. */
    if (text.len == 0 || text.p[0] < '0' || text.p[0] > '9' ||
        sf_lexer_next(&lexer, &token, NULL) || lexer.at != text.len)
        return false;
    if (token.kind == SF_TOKEN_DURATION) {
        *out_ns = token.i64;
    } else if (token.kind == SF_TOKEN_INT && token.i64 <= INT64_MAX / S_NS) {
        *out_ns = token.i64 * S_NS;
    } else if (token.kind == SF_TOKEN_FLOAT && token.f64 < (double)(INT64_MAX / S_NS)) {
        *out_ns = (int64_t)(token.f64 * 1e9);
    } else {
        return false;
    }
    return *out_ns > 0;
}

static enum sf_err read_duration(const struct sf_request *r, sf_str name, int64_t *out_ns,
                                 struct sf_why *why)
{
    struct sf_buf text = {.max = VALUE_LEN};
    enum sf_err err = SF_OK;
    if (sf_request_param(r, name, &text) && text.len && !parse_duration(sf_buf_str(&text), out_ns))
        err = sf_fail(why, SF_ERR_INPUT, "invalid %.*s: %.*s is not a duration such as 15s or 1h",
                      SF_STR_ARG(name), SF_STR_ARG(sf_str_part(sf_buf_str(&text), 0, 60)));
    sf_buf_done(&text);
    return err;
}

static enum sf_err read_time(const struct sf_request *r, sf_str name, int64_t now_ns,
                             int64_t *out_ns, struct sf_why *why)
{
    struct sf_buf text = {.max = VALUE_LEN};
    enum sf_err err = SF_OK;
    if (sf_request_param(r, name, &text) && text.len &&
        !sf_time_text_parse(sf_buf_str(&text), now_ns, out_ns))
        err = sf_fail(why, SF_ERR_INPUT,
                      "invalid %.*s: %.*s is no time; use unix seconds or nanoseconds or RFC 3339",
                      SF_STR_ARG(name), SF_STR_ARG(sf_str_part(sf_buf_str(&text), 0, 60)));
    sf_buf_done(&text);
    return err;
}

static enum sf_err read_count(const struct sf_request *r, sf_str name, uint64_t *out,
                              struct sf_why *why)
{
    struct sf_buf text = {.max = VALUE_LEN};
    enum sf_err err = SF_OK;
    if (sf_request_param(r, name, &text) && text.len && !sf_str_to_u64(sf_buf_str(&text), out))
        err = sf_fail(why, SF_ERR_INPUT, "invalid %.*s: %.*s is not a number", SF_STR_ARG(name),
                      SF_STR_ARG(sf_str_part(sf_buf_str(&text), 0, 60)));
    sf_buf_done(&text);
    return err;
}

static enum sf_err read_window(const struct sf_request *r, bool is_instant, struct asked *a,
                               struct sf_why *why)
{
    int64_t now_ns = sf_clock_wall_ns(), since_ns = 3600 * S_NS, from_ns = -1, to_ns = now_ns,
            step_ns = 0;
    enum sf_err err = read_duration(r, SF_STR("since"), &since_ns, why);
    if (!err)
        err = read_time(r, SF_STR("end"), now_ns, &to_ns, why);
    if (!err)
        err = read_time(r, SF_STR("start"), now_ns, &from_ns, why);
    if (!err && !is_instant)
        err = read_duration(r, SF_STR("step"), &step_ns, why);
    if (err)
        return err;
    if (from_ns < 0)
        from_ns = to_ns > since_ns ? to_ns - since_ns : 0;
    return is_instant ? sf_metrics_window_instant(from_ns, to_ns, &a->window, why)
                      : sf_metrics_window_range(from_ns, to_ns, step_ns, &a->window, why);
}

static enum sf_err read_request(const struct sf_request *r, bool is_instant, struct asked *a,
                                struct sf_why *why)
{
    enum sf_err err = read_window(r, is_instant, a, why);
    if (!err)
        err = read_count(r, SF_STR("maxSeries"), &a->max_series, why);
    if (!err && !is_instant)
        err = read_count(r, SF_STR("exemplars"), &a->exemplars, why);
    if (err)
        return err;
    a->query.max = SF_LIMIT_QUERY_LEN;
    if (!sf_request_param(r, SF_STR("q"), &a->query) || a->query.len == 0)
        sf_request_param(r, SF_STR("query"), &a->query);
    if (!sf_buf_ok(&a->query))
        return sf_fail(why, SF_ERR_INPUT, "query is longer than %d bytes", SF_LIMIT_QUERY_LEN);
    if (sf_str_trim(sf_buf_str(&a->query)).len == 0)
        return sf_fail(why, SF_ERR_INPUT, "please provide a TraceQL metrics query in q");
    return SF_OK;
}

/* ---- the answer ---- */

static uint32_t at_most(uint64_t v, uint32_t max)
{
    return v < max ? (uint32_t)v : max;
}

static enum sf_err run(struct sf_call *call, struct sf_worker *worker, const struct asked *a,
                       struct sf_metrics_result *out, struct sf_why *why)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q = {0};
    struct sf_arena scratch = {0};
    struct sf_metrics_ask ask = {
        .window = a->window,
        .max_series = at_most(a->max_series, UINT32_MAX),
        .n_exemplars = a->exemplars ? at_most(a->exemplars, DEFAULT_EXEMPLARS) : DEFAULT_EXEMPLARS,
        .scratch = &scratch};
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
        return SF_OK; /* a tenant nobody ever wrote for */
    if (!sf_arena_init(&scratch, call->service->query_memory_len))
        return sf_fail(why, SF_ERR_NOMEM, "no memory for the query");
    err = sf_metrics_run(atomic_load(&call->service->store), &ask, &q, out, why);
    sf_arena_done(&scratch);
    return err;
}

static bool answer(struct sf_call *call, struct sf_worker *worker, bool is_instant)
{
    struct asked a = {0};
    struct sf_metrics_result result = {0};
    struct sf_why why = {0};
    enum sf_err err = read_request(call->request, is_instant, &a, &why);
    if (!err)
        err = run(call, worker, &a, &result, &why);
    sf_buf_done(&a.query);
    if (err)
        return sf_call_fail(call, err, &why);
    sf_call_ok(call, "application/json"); /* whatever Accept says */
    if (is_instant)
        sf_metrics_instant_json(&result, &call->response->body);
    else
        sf_metrics_range_json(&result, &call->response->body);
    err = call->response->body.err;
    if (err) {
        sf_fail(&why, err, "the answer does not fit a query's memory");
        return sf_call_fail(call, err, &why);
    }
    return true;
}

bool sf_metrics_query_range(struct sf_call *call, struct sf_worker *worker)
{
    return answer(call, worker, false);
}

bool sf_metrics_query_instant(struct sf_call *call, struct sf_worker *worker)
{
    return answer(call, worker, true);
}
