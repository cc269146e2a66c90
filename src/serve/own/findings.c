#include "serve/own/findings.h"

#include "base/time_unit.h"
#include "exec/tenant.h"
#include "join/findings.h"
#include "join/span_find.h"
#include "os/clock.h"
#include "render/findings.h"
#include "serve/own/findings_each.h"
#include "serve/own/own_form.h"
#include "serve/params.h"

static const char one_of[] = "set one of service=NAME, trace=ID, span=ID, q=QUERY, left= and "
                             "right= (two queries), baseline= and comparison= (two selectors), or "
                             "each=service";

/* ---- thresholds ---- */

/* "12" or "12%": a percentage. */
static enum sf_err findings_read_share(const struct sf_request *r, const char *name,
                                       struct sf_arena *req, double *io, struct sf_why *why)
{
    sf_str text = sf_params_word(r, name, req), digits = text;
    double percent;
    if (text.len == 0)
        return SF_OK;
    if (text.p[text.len - 1] == '%')
        digits = sf_str_part(text, 0, text.len - 1);
    if (!sf_str_to_f64(digits, &percent) || !(percent >= 0 && percent <= 100))
        return sf_fail(why, SF_ERR_INPUT, "%s expects a percentage such as 10%%, not '%.*s'", name,
                       SF_STR_ARG(sf_str_part(text, 0, 20)));
    *io = percent / 100;
    return SF_OK;
}

static enum sf_err findings_read_number(const struct sf_request *r, const char *name, uint32_t *io,
                                        struct sf_why *why)
{
    uint64_t n = *io;
    enum sf_err err = sf_params_count(r, sf_str_from(name), &n, why);
    if (!err && (n == 0 || n > UINT32_MAX))
        return sf_fail(why, SF_ERR_INPUT, "%s expects a number from 1 on", name);
    *io = (uint32_t)n;
    return err;
}

static enum sf_err findings_read_limits(const struct sf_request *r, struct sf_arena *req,
                                        struct sf_finding_limits *io, struct sf_why *why)
{
    const struct {
        const char *name;
        double *share;
        uint32_t *number;
    } known[] = {{"leaf", &io->leaf, NULL},
                 {"stack_depth", NULL, &io->depth},
                 {"repeated", &io->repeat, NULL},
                 {"callers", NULL, &io->callers},
                 {"equal_spans", NULL, &io->siblings},
                 {"gc", &io->gc, NULL},
                 {"lock", &io->lock, NULL},
                 {"theme", &io->theme, NULL}};
    enum sf_err err = SF_OK;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && !err; i++)
        err = known[i].share ? findings_read_share(r, known[i].name, req, known[i].share, why)
                             : findings_read_number(r, known[i].name, known[i].number, why);
    return err;
}

/* ---- the subject of the query ---- */

static enum sf_err findings_read_span(sf_str span, struct sf_findings_want *want,
                                      struct sf_why *why)
{
    if (span.len > 0 && (!sf_span_id_parse(span, &want->span) || want->span == 0))
        return sf_fail(why, SF_ERR_INPUT, "a span id is up to 16 hex digits, not '%.*s'",
                       SF_STR_ARG(sf_str_part(span, 0, 40)));
    return SF_OK;
}

static enum sf_err read_selectors(struct sf_arena *req, struct sf_findings_want *want,
                                  struct sf_why *why)
{
    enum sf_err err = want->baseline.len == 0
                          ? SF_OK
                          : sf_label_selector_parse_loose(want->baseline, req,
                                                          &want->baseline_match, why);
    if (!err && want->comparison.len > 0)
        err = sf_label_selector_parse_loose(want->comparison, req, &want->comparison_match, why);
    return err;
}

static enum sf_err findings_read_want(const struct sf_request *r, struct sf_arena *req,
                                      struct sf_findings_want *want, bool *is_each,
                                      struct sf_why *why)
{
    sf_str each = sf_params_word(r, "each", req);
    *is_each = sf_str_eq(each, SF_STR("service"));
    if (each.len > 0 && !*is_each)
        return sf_fail(why, SF_ERR_INPUT, "each expects the word service, not '%.*s'",
                       SF_STR_ARG(sf_str_part(each, 0, 20)));
    sf_str trace = sf_params_word(r, "trace", req), span = sf_params_word(r, "span", req);
    want->service = sf_params_word(r, "service", req);
    want->query = sf_params_word(r, "q", req);
    want->left = sf_params_word(r, "left", req);
    want->right = sf_params_word(r, "right", req);
    want->baseline = sf_params_word(r, "baseline", req);
    want->comparison = sf_params_word(r, "comparison", req);
    want->type = sf_params_word(r, "type", req);
    int n_asked = *is_each + (trace.len > 0 || span.len > 0) + (want->service.len > 0) +
                  (want->query.len > 0) + (want->left.len > 0 || want->right.len > 0) +
                  (want->baseline.len > 0 || want->comparison.len > 0);
    if (n_asked != 1)
        return sf_fail(why, SF_ERR_INPUT, "%s", one_of);
    if ((want->left.len > 0) != (want->right.len > 0) ||
        (want->baseline.len > 0) != (want->comparison.len > 0))
        return sf_fail(why, SF_ERR_INPUT, "a comparison has two sides: %s", one_of);
    enum sf_err err = findings_read_limits(r, req, &want->limits, why);
    if (!err)
        err = findings_read_span(span, want, why);
    if (!err)
        err = read_selectors(req, want, why);
    if (!err && trace.len > 0)
        err = sf_params_trace_id(trace, &want->trace, why);
    if (!err && trace.len + span.len > 0)
        return sf_params_no_range(r, "a trace or span", why);
    return err ? err
               : sf_params_range(r, sf_clock_wall_ns(), SF_NS_PER_HOUR, &want->from_ns,
                                 &want->until_ns, why);
}

static enum sf_err findings_make(struct sf_call *call, struct sf_findings_want *want,
                                 struct sf_query_ctx *q, struct sf_findings_view *view,
                                 struct sf_why *why)
{
    struct sf_store *store = atomic_load(&call->service->store);
    enum sf_err err = sf_call_check_data(q, why);
    if (!err && want->span != 0 && sf_trace_id_is_zero(want->trace))
        err = sf_span_find(store, want->span, 0, 0, want->scratch, q, &want->trace, why);
    return err ? err : sf_findings_make(store, want, q, view, why);
}

bool sf_findings_handle(struct sf_call *call, struct sf_worker *worker)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_arena scratch = {0};
    struct sf_findings_want want = {.limits = call->service->finding_limits, .scratch = &scratch};
    struct sf_findings_view view = {0};
    struct sf_why why = {0};
    bool is_each = false;
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        err = findings_read_want(call->request, q.req, &want, &is_each, &why);
    bool is_text = !err && sf_own_form_is_text(sf_params_word(call->request, "format", q.req));
    if (is_each && is_text)
        err = sf_fail(&why, SF_ERR_INPUT, "each=service answers in JSON only: leave out format");
    if (!err && !sf_arena_init(&scratch, call->service->query_memory_len))
        err = sf_no_memory(&why, "the query");
    if (!err && is_each)
        err = sf_findings_each(call, &want, &q, &call->response->body, &why);
    else if (!err)
        err = findings_make(call, &want, &q, &view, &why);
    sf_arena_done(&scratch);
    if (err)
        return sf_call_fail(call, err, &why);
    if (is_each) {
        sf_call_ok(call, "application/json");
    } else if (is_text) {
        sf_call_ok(call, "text/plain; charset=utf-8");
        sf_findings_text(&view, &call->response->body);
    } else {
        sf_call_ok(call, "application/json");
        sf_findings_json(&view, &call->response->body);
    }
    return true;
}
