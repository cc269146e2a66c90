#include "serve/search.h"

#include "base/limits.h"
#include "exec/search.h"
#include "os/clock.h"
#include "query/query_parse.h"
#include "render/search_result.h"
#include "serve/params.h"
#include "serve/tenant.h"
#include "wire/time_text.h"

enum { DEFAULT_LIMIT = 20, MAX_LIMIT = 262144, DEFAULT_SPSS = 3, MAX_SPSS = 100 };

struct asked {
    struct sf_buf query; /* owned */
    uint64_t limit, spans_per_set;
    int64_t from_ns, to_ns;
};

static enum sf_err read_count(const struct sf_request *r, sf_str name, uint64_t otherwise,
                              uint64_t *out, struct sf_why *why)
{
    struct sf_buf text = {.max = 64};
    enum sf_err err = SF_OK;
    *out = otherwise;
    if (sf_request_param(r, name, &text) && text.len && !sf_str_to_u64(sf_buf_str(&text), out))
        err = sf_fail(why, SF_ERR_INPUT, "invalid %.*s: %.*s", SF_STR_ARG(name),
                      SF_STR_ARG(sf_buf_str(&text)));
    sf_buf_done(&text);
    return err;
}

/* "since" instead of start and end: a time ago, up to now. */
static enum sf_err read_since(const struct sf_request *r, struct asked *a, struct sf_why *why)
{
    struct sf_buf text = {.max = 64}, ago = {0};
    enum sf_err err = SF_OK;
    int64_t now_ns = sf_clock_wall_ns();
    if (sf_request_param(r, SF_STR("since"), &text) && text.len) {
        sf_buf_print(&ago, "now-%.*s", SF_STR_ARG(sf_buf_str(&text)));
        if (sf_time_text_parse(sf_buf_str(&ago), now_ns, &a->from_ns))
            a->to_ns = INT64_MAX;
        else
            err = sf_fail(why, SF_ERR_INPUT,
                          "invalid since: %.*s is not a duration such as 15m or 1h",
                          SF_STR_ARG(sf_buf_str(&text)));
    }
    sf_buf_done(&text);
    sf_buf_done(&ago);
    return err;
}

static enum sf_err read_request(const struct sf_request *r, struct asked *a, struct sf_why *why)
{
    enum sf_err err = read_count(r, SF_STR("limit"), DEFAULT_LIMIT, &a->limit, why);
    if (!err)
        err = read_count(r, SF_STR("spss"), DEFAULT_SPSS, &a->spans_per_set, why);
    if (err)
        return err;
    if (a->limit == 0)
        return sf_fail(why, SF_ERR_INPUT, "invalid limit: must be a positive number");
    if (a->limit > MAX_LIMIT)
        return sf_fail(why, SF_ERR_INPUT, "limit %llu exceeds max limit %d",
                       (unsigned long long)a->limit, MAX_LIMIT);
    if (a->spans_per_set > MAX_SPSS)
        return sf_fail(why, SF_ERR_INPUT, "spans per span set exceeds %d. received %llu", MAX_SPSS,
                       (unsigned long long)a->spans_per_set);
    if (a->spans_per_set == 0)
        a->spans_per_set = DEFAULT_SPSS;
    err = sf_params_start_end(r, &a->from_ns, &a->to_ns, why);
    if (!err)
        err = read_since(r, a, why);
    if (err)
        return err;
    a->query.max = SF_LIMIT_QUERY_LEN;
    if (!sf_request_param(r, SF_STR("q"), &a->query) ||
        sf_str_trim(sf_buf_str(&a->query)).len == 0) {
        sf_buf_reset(&a->query);
        sf_buf_add_str(&a->query, SF_STR("{}"));
    }
    if (!sf_buf_ok(&a->query))
        return sf_fail(why, SF_ERR_INPUT, "query is longer than %d bytes", SF_LIMIT_QUERY_LEN);
    return SF_OK;
}

static enum sf_err run(struct sf_call *call, struct sf_worker *worker, const struct asked *a,
                       struct sf_search_result *out, struct sf_why *why)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q = {0};
    struct sf_arena scratch = {0};
    struct sf_search search = {.from_ns = a->from_ns,
                               .to_ns = a->to_ns,
                               .limit = (uint32_t)a->limit,
                               .spans_per_set = (uint32_t)a->spans_per_set,
                               .scratch = &scratch};
    enum sf_err err = sf_call_query(call, worker, tenants, &q, why);
    if (err || q.n_tenants == 0)
        return err;
    err = sf_query_parse(sf_buf_str(&a->query), q.req, &search.query, NULL, why);
    if (err) {
        sf_why_prefix(why, "invalid TraceQL query");
        return SF_ERR_INPUT;
    }
    if (!sf_arena_init(&scratch, call->service->query_memory_len))
        return sf_fail(why, SF_ERR_NOMEM, "no memory for the query");
    err = sf_search_run(atomic_load(&call->service->store), &search, &q, out, why);
    sf_arena_done(&scratch);
    return err;
}

bool sf_search_handle(struct sf_call *call, struct sf_worker *worker)
{
    struct asked a = {0};
    struct sf_search_result result = {0};
    struct sf_why why = {0};
    size_t at;
    enum sf_err err = read_request(call->request, &a, &why);
    if (!err)
        err = run(call, worker, &a, &result, &why);
    sf_buf_done(&a.query);
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
    /* The strict parser of clients takes no field of ours: what was cut is said in a header. */
    if (result.is_partial)
        sf_response_header(call->response, "x-spanflame-partial", result.note);
    err = call->response->body.err;
    if (err) {
        sf_fail(&why, err, "the answer does not fit a query's memory");
        return sf_call_fail(call, err, &why);
    }
    return true;
}
