#include "serve/profile_read.h"

#include "exec/profile.h"
#include "flame/tree_group.h"
#include "os/clock.h"
#include "render/flame_svg.h"
#include "render/flame_text.h"
#include "render/folded.h"
#include "render/otlp_profile.h"
#include "render/pprof.h"
#include "render/profile_json.h"
#include "render/speedscope.h"
#include "serve/params.h"
#include "serve/tenant.h"
#include "wire/deflate.h"

enum { COLUMNS = 120, MAX_NODES = 1 << 20 };

struct asked {
    struct sf_profile_ask ask;
    sf_str format;
};

static bool param(const struct sf_request *r, const char *name, struct sf_arena *req, sf_str *out)
{
    struct sf_buf val = {.max = 4096};
    bool has = sf_request_param(r, sf_str_from(name), &val) && val.len &&
               sf_arena_copy(req, sf_buf_str(&val), out);
    sf_buf_done(&val);
    return has;
}

static enum sf_err read_parameters(const struct sf_request *r, struct sf_arena *req,
                                   struct asked *a, struct sf_why *why)
{
    const int64_t hour_ns = INT64_C(3600) * 1000000000;
    sf_str text;
    uint64_t max_nodes = 0;
    enum sf_err err = SF_OK;
    if (!param(r, "app", req, &a->ask.service))
        (void)param(r, "service", req, &a->ask.service);
    (void)param(r, "type", req, &a->ask.type);
    (void)param(r, "span_id", req, &a->ask.span_id);
    a->format = SF_STR("flamegraph");
    (void)param(r, "format", req, &a->format);
    if (param(r, "trace_id", req, &text)) {
        a->ask.has_trace = true;
        err = sf_params_trace_id(text, &a->ask.trace_id, why);
    }
    if (!err)
        err = sf_params_count(r, SF_STR("max_nodes"), &max_nodes, why);
    if (!err && max_nodes > MAX_NODES)
        err = sf_fail(why, SF_ERR_INPUT, "max_nodes is at most %d", MAX_NODES);
    a->ask.max_nodes = (uint32_t)max_nodes;
    if (!err && (a->ask.span_id.len || a->ask.has_trace) && !param(r, "from", req, &text) &&
        !param(r, "until", req, &text))
        return SF_OK; /* an id is found wherever it is */
    return err ? err
               : sf_params_range(r, sf_clock_wall_ns(), hour_ns, &a->ask.from_ns, &a->ask.until_ns,
                                 why);
}

/* ---- forms ---- */

static bool wants_page(const struct sf_request *r)
{
    size_t at;
    return sf_str_find(sf_request_header(r, SF_STR("accept")), SF_STR("text/html"), &at);
}

static enum sf_err group(struct sf_profile_view *v, struct sf_arena *req, struct sf_why *why)
{
    struct sf_tree_grouping how = {.by = SF_GROUP_FUNCTION};
    struct sf_tree grouped;
    enum sf_err err = sf_tree_group(&v->tree, how, req, &grouped, why);
    if (!err)
        v->tree = grouped;
    return err;
}

static enum sf_err draw_text(const struct sf_profile_view *v, struct sf_arena *req,
                             struct sf_buf *out, struct sf_why *why)
{
    struct sf_flame_text f = {
        .tree = &v->tree, .order = SF_TREE_BY_TOTAL, .columns = COLUMNS, .min_share = 0.01};
    struct sf_flame_text_rest rest = {0};
    enum sf_err err = sf_flame_text_render(&f, *req, out, &rest, why);
    if (!err && rest.n_hidden)
        sf_buf_print(out, "(%u frames below 1 %% are not drawn)\n", rest.n_hidden);
    return err;
}

static enum sf_err write_pprof(const struct sf_profile_view *v, struct sf_arena *req,
                               struct sf_buf *out, struct sf_why *why)
{
    struct sf_deflate *z = sf_deflate_new();
    struct sf_buf plain = {0};
    enum sf_err err = z ? sf_pprof_render(v, *req, &plain, why)
                        : sf_fail(why, SF_ERR_NOMEM, "no memory to compress");
    if (!err)
        err = sf_deflate_gzip(z, 6, sf_buf_bytes(&plain), out, why);
    sf_deflate_free(z);
    sf_buf_done(&plain);
    return err;
}

struct form {
    const char *name, *type;
    enum { AS_TEXT, AS_SVG, AS_JSON, AS_PPROF, AS_FOLDED, AS_SPEEDSCOPE, AS_OTLP } as;
    bool is_grouped;
};

static const struct form forms[] = {
    {"flamegraph", "text/plain; charset=utf-8", AS_TEXT, true},
    {"svg", "image/svg+xml", AS_SVG, true},
    {"json", "application/json", AS_JSON, false},
    {"pprof", "application/octet-stream", AS_PPROF, false},
    {"folded", "text/plain; charset=utf-8", AS_FOLDED, true},
    {"speedscope", "application/json", AS_SPEEDSCOPE, false},
    {"otlp", "application/x-protobuf", AS_OTLP, false},
};

static const struct form *find_form(sf_str name, bool is_page)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (sf_str_eq(sf_str_from(forms[i].name), name))
            return i == 0 && is_page ? &forms[1] : &forms[i];
    }
    return NULL;
}

static enum sf_err render(const struct form *form, struct sf_profile_view *v, struct sf_arena *req,
                          struct sf_buf *out, struct sf_why *why)
{
    enum sf_err err = form->is_grouped ? group(v, req, why) : SF_OK;
    if (err)
        return err;
    switch (form->as) {
    case AS_TEXT: return draw_text(v, req, out, why);
    case AS_SVG: return sf_flame_svg_render(v, *req, out, why);
    case AS_JSON: return sf_profile_json_render(v, out, why);
    case AS_PPROF: return write_pprof(v, req, out, why);
    case AS_FOLDED: return sf_folded_render(&v->tree, *req, out, why);
    case AS_SPEEDSCOPE: return sf_speedscope_render(v, *req, out, why);
    case AS_OTLP: return sf_otlp_profile_render(v, *req, out, why);
    }
    return SF_OK;
}

bool sf_profile_read_handle(struct sf_call *call, struct sf_worker *worker)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct asked a = {0};
    struct sf_profile_view view;
    const struct form *form = NULL;
    struct sf_why why = {0};
    enum sf_err err = read_parameters(call->request, &worker->arena, &a, &why);
    if (!err) {
        form = find_form(a.format, wants_page(call->request));
        if (!form)
            err = sf_fail(&why, SF_ERR_INPUT,
                          "format=%.*s: flamegraph, svg, json, pprof, folded, speedscope or otlp",
                          SF_STR_ARG(sf_str_part(a.format, 0, 40)));
    }
    if (!err)
        err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        err = sf_profile_get(atomic_load(&call->service->store), &a.ask, &q, &view, &why);
    if (!err)
        err = render(form, &view, &worker->arena, &call->response->body, &why);
    if (!err && !sf_buf_ok(&call->response->body))
        err = sf_fail(&why, SF_ERR_NOMEM, "no memory for the answer");
    if (err)
        return sf_call_fail(call, err, &why);
    sf_call_ok(call, form->type);
    call->response->is_uncompressible = form->as == AS_PPROF;
    if (!q.is_exact)
        sf_response_header(call->response, "x-spanflame-exact", SF_STR("false"));
    return true;
}
