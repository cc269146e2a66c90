/* pyroscope_render.c - Pyroscope's GET /pyroscope/render, render-diff and label-values. Parameters
 * become a query for the store; the answer is a flamebearer tree plus a timeline whose step is
 * chosen from the range, optionally split by one label. */
#include "serve/pyroscope/pyroscope_render.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/time_unit.h"
#include "exec/tenant.h"
#include "flame/flamebearer.h"
#include "flame/tree_cut.h"
#include "join/profile.h"
#include "os/clock.h"
#include "query/label_selector.h"
#include "render/dot.h"
#include "render/profile_json.h"
#include "serve/params.h"
#include "serve/pyroscope/ingest.h"
#include "serve/pyroscope/querier_work.h"

enum { DEFAULT_NODES = 8192, MAX_NODES = 1 << 20, DOT_NODES = 100, MAX_GROUPS = 1000 };

struct work {
    struct sf_call *call;
    struct sf_arena *req;
    struct sf_store *store;
    struct sf_query_ctx q;
    uint64_t max_nodes;
    struct sf_why why;
};

/* ---- parameters ---- */

/* Reads "TYPE{labels}". The selector grammar returns the type among the matchers; it is removed
 * from them. */
static enum sf_err read_query(struct work *x, const char *name, struct sf_prof_query *out)
{
    struct sf_label_selector selector = {0};
    sf_str text = sf_params_word(x->call->request, name, x->req);
    size_t n = 0;
    enum sf_err err = sf_label_selector_parse(text, x->req, &selector, &x->why);
    if (err)
        return err;
    for (size_t i = 0; i < selector.n; i++) {
        struct sf_matcher m = selector.list[i];
        size_t colon;
        bool is_type = sf_str_eq(m.key, SF_STR("__profile_type__")) ||
                       (sf_str_eq(m.key, SF_STR("__name__")) &&
                        sf_str_find_char(m.val, ':', &colon));
        if (is_type && m.op == SF_OP_EQ)
            out->type = m.val;
        else
            selector.list[n++] = m;
    }
    if (out->type.len == 0)
        return sf_fail(&x->why, SF_ERR_INPUT,
                       "%s: a profile type with labels is expected, such as "
                       "process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name=\"x\"}",
                       name);
    out->match = selector.list;
    out->n_match = n;
    return SF_OK;
}

static enum sf_err pyroscope_render_read_times(struct work *x, const char *from, const char *until,
                                               struct sf_prof_query *out)
{
    int64_t now_ns = sf_clock_wall_ns();
    out->from_ns = sf_ingest_time(sf_params_word(x->call->request, from, x->req), now_ns);
    out->to_ns = sf_ingest_time(sf_params_word(x->call->request, until, x->req), now_ns);
    if (out->from_ns < 0 || out->from_ns > out->to_ns)
        return sf_fail(&x->why, SF_ERR_INPUT, "%s lies after %s", from, until);
    if (out->to_ns == 0)
        out->to_ns = 1; /* the store would read 0 and 0 as "all times" */
    return SF_OK;
}

static enum sf_err pyroscope_render_begin(struct work *x, struct sf_worker *worker,
                                          uint32_t *tenants)
{
    const struct sf_request *r = x->call->request;
    enum sf_err err;
    x->req = &worker->arena;
    x->store = atomic_load(&x->call->service->store);
    err = sf_params_count(r, SF_STR("max-nodes"), &x->max_nodes, &x->why);
    if (!err && x->max_nodes == 0)
        err = sf_params_count(r, SF_STR("maxNodes"), &x->max_nodes, &x->why);
    if (!err && x->max_nodes > MAX_NODES)
        err = sf_fail(&x->why, SF_ERR_INPUT, "max-nodes is at most %d", MAX_NODES);
    return err ? err : sf_call_query(x->call, worker, tenants, &x->q, &x->why);
}

static bool pyroscope_render_finish(struct work *x, enum sf_err err, const char *content_type)
{
    if (!err && !sf_buf_ok(&x->call->response->body))
        err = sf_no_memory(&x->why, "the answer");
    if (err)
        return sf_call_fail(x->call, err, &x->why);
    sf_call_ok(x->call, content_type);
    return true;
}

static uint32_t pyroscope_render_nodes_of(const struct work *x)
{
    return x->max_nodes ? (uint32_t)x->max_nodes : DEFAULT_NODES;
}

/* ---- the timeline ---- */

/* Chooses a readable step: the first whose bound is at least 1/1500 of the range. */
static int64_t step_s_of(int64_t range_s)
{
    static const struct {
        double upto;
        int64_t step;
    } steps[] = {{17.5, 15},     {25, 20},       {45, 30},       {90, 60},
                 {210, 120},     {450, 300},     {750, 600},     {1050, 900},
                 {1500, 1200},   {2700, 1800},   {5400, 3600},   {9000, 7200},
                 {16200, 10800}, {32400, 21600}, {86400, 43200}, {604800, 86400}};
    double each = (double)range_s / 1500;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (each <= steps[i].upto)
            return steps[i].step;
    }
    return 604800;
}

struct timeline {
    int64_t start_s, step_s;
    size_t n;
};

static void pyroscope_render_write_timeline(struct sf_json_writer *w, const struct timeline *t,
                                            const uint64_t *samples)
{
    sf_json_write_object(w);
    sf_json_write_key_u64(w, SF_STR("startTime"), (uint64_t)t->start_s);
    sf_json_write_key(w, SF_STR("samples"));
    sf_json_write_array(w);
    for (size_t i = 0; i < t->n; i++)
        sf_json_write_u64(w, samples[i]);
    sf_json_write_array_end(w);
    sf_json_write_key_u64(w, SF_STR("durationDelta"), (uint64_t)t->step_s);
    sf_json_write_key(w, SF_STR("watermarks"));
    sf_json_write_null(w);
    sf_json_write_object_end(w);
}

/* Adds the points of one group; gaps stay zeros. */
static void pyroscope_render_add_points(const struct timeline *t,
                                        const struct sf_prof_points *points, uint32_t group,
                                        bool is_average, uint64_t *samples)
{
    for (uint32_t i = 0; i < points->n_points; i++) {
        const struct sf_prof_point *p = &points->points[i];
        int64_t at = p->time_ns / SF_NS_PER_S - t->start_s;
        int64_t value = is_average && p->n_profiles ? p->value / (int64_t)p->n_profiles : p->value;
        if (p->group == group && at >= 0 && (size_t)(at / t->step_s) < t->n && value > 0)
            samples[at / t->step_s] = (uint64_t)value;
    }
}

static enum sf_err ask_points(struct work *x, const struct sf_prof_query *query,
                              const struct timeline *t, sf_str key, struct sf_prof_points *out)
{
    struct sf_prof_query q = *query;
    q.grid_ns = t->start_s * SF_NS_PER_S;
    return x->store->ops->prof_points(x->store, &q, &key, key.len ? 1 : 0, t->step_s * SF_NS_PER_S,
                                      &x->q, out, &x->why);
}

/* Reports in a header that groups are left out: Pyroscope's answer has no field for it. */
static void say_groups(struct work *x, uint32_t n)
{
    char text[80];
    int len = snprintf(text, sizeof(text), "%d of %u groups", MAX_GROUPS, n);
    sf_response_header(x->call->response, "x-spanflame-partial", (sf_str){text, (size_t)len});
}

static enum sf_err pyroscope_render_write_times(struct work *x, const struct sf_prof_query *query,
                                                sf_str key, bool is_average, struct sf_buf *out)
{
    struct timeline t = {.step_s = step_s_of((query->to_ns - query->from_ns) / SF_NS_PER_S)};
    struct sf_json_writer w = sf_json_writer_init(out);
    struct sf_prof_points points;
    uint64_t *samples;
    enum sf_err err;
    t.start_s = query->from_ns / SF_NS_PER_S / t.step_s * t.step_s;
    t.n = (size_t)(((query->to_ns - 1) / SF_NS_PER_S / t.step_s * t.step_s - t.start_s) / t.step_s +
                   1);
    samples = sf_arena_new_n(x->req, t.n, sizeof(*samples));
    if (!samples)
        return sf_no_room(&x->why, "the answer");
    err = ask_points(x, query, &t, SF_STR_NONE, &points);
    if (err)
        return err;
    pyroscope_render_add_points(&t, &points, 0, is_average, samples);
    sf_json_write_key(&w, SF_STR("timeline"));
    pyroscope_render_write_timeline(&w, &t, samples);
    sf_json_write_key(&w, SF_STR("groups"));
    if (key.len == 0) {
        sf_json_write_null(&w);
        return SF_OK;
    }
    err = ask_points(x, query, &t, key, &points);
    sf_json_write_object(&w);
    for (uint32_t i = 0; !err && i < points.groups.n_sets && i < MAX_GROUPS; i++) {
        uint32_t first = i ? points.groups.ends[i - 1] : 0;
        bool has_label = points.groups.ends[i] > first;
        memset(samples, 0, t.n * sizeof(*samples));
        pyroscope_render_add_points(&t, &points, i, is_average, samples);
        sf_json_write_key(&w, has_label ? points.groups.labels[first].val : SF_STR("*"));
        pyroscope_render_write_timeline(&w, &t, samples);
    }
    sf_json_write_object_end(&w);
    if (!err && points.groups.n_sets > MAX_GROUPS)
        say_groups(x, points.groups.n_sets);
    return err;
}

/* ---- the calls ---- */

static enum sf_err render_json(struct work *x, const struct sf_prof_query *query,
                               const struct sf_tree *tree)
{
    const struct sf_request *r = x->call->request;
    sf_str aggregation = sf_params_word(r, "aggregation", x->req);
    struct sf_profile_type type;
    struct sf_flamebearer flame;
    struct sf_buf times = {0};
    struct sf_tree cut;
    enum sf_err err;
    if (aggregation.len && !sf_str_eq(aggregation, SF_STR("sum")) &&
        !sf_str_eq(aggregation, SF_STR("avg")))
        return sf_fail(&x->why, SF_ERR_UNSUPPORTED, "aggregation=%.*s is not supported: sum or avg",
                       SF_STR_ARG(sf_str_part(aggregation, 0, 40)));
    err = sf_tree_cut(tree, pyroscope_render_nodes_of(x), x->req, &cut, &x->why);
    if (!err)
        err = sf_flamebearer_single(&cut, x->req, &flame, &x->why);
    if (!err)
        err = sf_profile_type_of(x->store, query, &x->q, &type, &x->why);
    if (!err)
        err = pyroscope_render_write_times(x, query, sf_params_word(r, "groupBy", x->req),
                                           sf_str_eq(aggregation, SF_STR("avg")), &times);
    if (!err)
        err = sf_profile_json_pyroscope(&flame, false, &type, sf_buf_str(&times),
                                        &x->call->response->body, &x->why);
    sf_buf_done(&times);
    return err;
}

bool sf_pyroscope_render(struct sf_call *call, struct sf_worker *worker)
{
    struct work x = {.call = call};
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_prof_query query = {0};
    struct sf_profile_view view = {0};
    bool is_dot = false;
    enum sf_err err = pyroscope_render_begin(&x, worker, tenants);
    if (!err)
        err = read_query(&x, "query", &query);
    if (!err)
        err = pyroscope_render_read_times(&x, "from", "until", &query);
    if (!err)
        err = sf_profile_functions(x.store, &query, &x.q, &view.tree, &x.why);
    if (!err) {
        is_dot = sf_str_eq(sf_params_word(call->request, "format", x.req), SF_STR("dot"));
        err = is_dot ? sf_dot_render(&view, x.max_nodes ? (uint32_t)x.max_nodes : DOT_NODES, *x.req,
                                     &call->response->body, &x.why)
                     : render_json(&x, &query, &view.tree);
    }
    return pyroscope_render_finish(&x, err,
                                   is_dot ? "text/plain; charset=utf-8" : "application/json");
}

bool sf_pyroscope_render_diff(struct sf_call *call, struct sf_worker *worker)
{
    static const char *const names[2][3] = {{"leftQuery", "leftFrom", "leftUntil"},
                                            {"rightQuery", "rightFrom", "rightUntil"}};
    struct work x = {.call = call};
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_prof_query queries[2] = {0};
    struct sf_tree trees[2];
    struct sf_tree_diff whole, cut;
    struct sf_flamebearer flame;
    struct sf_profile_type type;
    enum sf_err err = pyroscope_render_begin(&x, worker, tenants);
    for (size_t i = 0; !err && i < 2; i++) {
        err = read_query(&x, names[i][0], &queries[i]);
        if (!err)
            err = pyroscope_render_read_times(&x, names[i][1], names[i][2], &queries[i]);
    }
    if (!err && !sf_str_eq(queries[0].type, queries[1].type))
        err = sf_fail(&x.why, SF_ERR_INPUT, "both sides must be of one profile type");
    for (size_t i = 0; !err && i < 2; i++)
        err = sf_profile_functions(x.store, &queries[i], &x.q, &trees[i], &x.why);
    if (!err)
        err = sf_tree_diff(&trees[0], &trees[1], x.req, &whole, &x.why);
    if (!err)
        err = sf_tree_diff_cut(&whole, pyroscope_render_nodes_of(&x), x.req, &cut, &x.why);
    if (!err)
        err = sf_flamebearer_double(&cut, x.req, &flame, &x.why);
    if (!err)
        err = sf_profile_type_of(x.store, &queries[0], &x.q, &type, &x.why);
    if (!err)
        err = sf_profile_json_pyroscope(&flame, true, &type, SF_STR_NONE, &call->response->body,
                                        &x.why);
    return pyroscope_render_finish(&x, err, "application/json");
}

static int pyroscope_render_by_text(const void *a, const void *b)
{
    return sf_str_cmp(*(const sf_str *)a, *(const sf_str *)b);
}

bool sf_pyroscope_render_label_values(struct sf_call *call, struct sf_worker *worker)
{
    struct work x = {.call = call};
    struct sf_json_writer w = sf_json_writer_init(&call->response->body);
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_prof_query query = {0};
    struct sf_prof_list list = {0};
    sf_str *values = NULL, label = SF_STR_NONE;
    size_t n = 0;
    enum sf_err err = pyroscope_render_begin(&x, worker, tenants);
    if (!err) {
        label = sf_params_word(call->request, "label", x.req);
        if (label.len == 0)
            err = sf_fail(&x.why, SF_ERR_INPUT, "label is missing");
    }
    if (!err)
        err = x.store->ops->prof_list(x.store, &query, &x.q, &list, &x.why);
    if (sf_str_eq(label, SF_STR("__name__")))
        label = SF_STR("__profile_type__"); /* the field names of this older API differ */
    if (!err) {
        values = sf_arena_new_n(x.req, (size_t)list.n + 1, sizeof(*values));
        err = values ? SF_OK : sf_no_room(&x.why, "the answer");
    }
    for (uint32_t i = 0; !err && i < list.n; i++) {
        if (!sf_querier_work_label(x.req, &list.series[i], label, &values[n]))
            err = sf_no_room(&x.why, "the answer");
        else
            n += values[n].len > 0;
    }
    if (n)
        qsort(values, n, sizeof(*values), pyroscope_render_by_text);
    sf_json_write_array(&w);
    for (size_t i = 0; !err && i < n; i++) {
        if (i == 0 || !sf_str_eq(values[i - 1], values[i]))
            sf_json_write_str(&w, values[i]);
    }
    sf_json_write_array_end(&w);
    return pyroscope_render_finish(&x, err, "application/json");
}
