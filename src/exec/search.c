/* search.c - runs a search over the store. Traces come from the store newest first; each is
 * evaluated as a whole, or by the store's columns if the query allows it, and added to the result
 * until the limit, the deadline or the end. Counting uses columns only. */
#include "exec/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/list.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "exec/eval.h"
#include "exec/eval_attr.h"
#include "exec/profile_conds.h"
#include "exec/pushdown.h"
#include "exec/span_copy.h"
#include "exec/static_value.h"
#include "exec/touched.h"
#include "exec/trace_judge.h"
#include "exec/trace_stream.h"
#include "query/expr_text.h"

struct run {
    const struct sf_search *search;
    const struct sf_pipeline *pipeline;
    struct sf_query_ctx *q;
    struct sf_touched shown; /* attributes that spans of the answer show */
    bool has_name;           /* and their name */
    struct sf_eval *eval;
    struct sf_found_trace *traces;
    uint32_t n, cap;
    uint64_t n_matched; /* passed to on_match instead */
    struct sf_store *store;
    const struct sf_span_query *query;
    const struct sf_span_judge *judge;
    bool is_judge_exact;
    struct sf_why *why;
};

/* ---- what an answer shows of each span: everything the query touches ---- */

static bool has_own_place(enum sf_intrinsic i)
{
    switch (i) {
    case SF_INTRINSIC_NAME:
    case SF_INTRINSIC_DURATION:
    case SF_INTRINSIC_TRACE_DURATION:
    case SF_INTRINSIC_ROOT_NAME:
    case SF_INTRINSIC_ROOT_SERVICE:
    case SF_INTRINSIC_TRACE_ID:
    case SF_INTRINSIC_SPAN_ID:
    case SF_INTRINSIC_PROFILE_FRAME: return true; /* too many to show: see the span's profile */
    default: return false;
    }
}

static void search_show(struct run *r)
{
    struct sf_touched touched = {0};
    sf_touched_add_pipeline(&touched, r->pipeline);
    for (uint32_t i = 0; i < touched.n; i++) {
        if (touched.attrs[i].intrinsic == SF_INTRINSIC_NAME)
            r->has_name = true;
        if (!has_own_place(touched.attrs[i].intrinsic))
            sf_touched_add(&r->shown, &touched.attrs[i]);
    }
}

/* ---- values for the answer; false: no space ---- */

static bool search_add_attr(struct run *r, struct sf_attr *list, uint32_t *n,
                            const struct sf_query_attr *a, const struct sf_trace_view *v,
                            uint32_t span)
{
    struct sf_eval_values values = {0};
    sf_str key = a->intrinsic ? sf_str_from(sf_expr_text_intrinsic(a->intrinsic)) : a->name;
    if (!sf_eval_attr_values_next(&values, a, v, span))
        return true;
    if (values.is_array) {
        /* Before the first step, the iterator covers the whole list. */
        sf_str content = {(const char *)values.array.at,
                          (size_t)(values.array.end - values.array.at)};
        list[*n].val = (struct sf_value){.type = SF_VALUE_ARRAY};
        if (!sf_arena_copy(r->q->req, content, &list[*n].val.str))
            return false;
    } else if (!sf_static_value_of(r->q->req, values.one, &list[*n].val)) {
        return false;
    }
    if (!sf_arena_copy(r->q->req, key, &list[*n].key))
        return false;
    ++*n;
    return true;
}

static bool search_find_span(struct run *r, const struct sf_trace_view *v, uint32_t place,
                             struct sf_found_span *out)
{
    const struct sf_span *s = &v->spans[place];
    struct sf_attr *list = r->shown.n ? sf_arena_new_n(r->q->req, r->shown.n, sizeof(*list)) : NULL;
    uint32_t n = 0;
    if (r->shown.n && !list)
        return false;
    *out = (struct sf_found_span){
        .id = s->span_id, .start_ns = s->start_ns, .duration_ns = sf_span_duration_ns(s)};
    if (r->has_name && !sf_arena_copy(r->q->req, s->name, &out->name))
        return false;
    for (uint32_t i = 0; i < r->shown.n; i++) {
        if (!search_add_attr(r, list, &n, &r->shown.attrs[i], v, place))
            return false;
    }
    out->attrs = (struct sf_attrs){list, n};
    return true;
}

static bool search_find_set(struct run *r, const struct sf_trace_view *v,
                            const struct sf_spanset_result *set, struct sf_found_set *out)
{
    uint32_t n = set->n_spans < r->search->spans_per_set ? set->n_spans : r->search->spans_per_set;
    struct sf_found_span *spans = sf_arena_new_n(r->q->req, n ? n : 1, sizeof(*spans));
    struct sf_attr *attrs = sf_arena_new_n(r->q->req, set->n_attrs ? set->n_attrs : 1,
                                           sizeof(*attrs));
    if (!spans || !attrs)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!search_find_span(r, v, set->spans[i], &spans[i]))
            return false;
    }
    for (uint32_t i = 0; i < set->n_attrs; i++) {
        attrs[i].key = set->attrs[i].name; /* lives with the query */
        if (!sf_static_value_of(r->q->req, set->attrs[i].val, &attrs[i].val))
            return false;
    }
    *out = (struct sf_found_set){spans, n, set->n_spans, {attrs, set->n_attrs}};
    return true;
}

static int search_compare_services(const void *a, const void *b)
{
    const struct sf_found_service *x = a, *y = b;
    return sf_str_cmp(x->name, y->name);
}

static bool count_services(struct run *r, const struct sf_trace_view *v, struct sf_found_trace *t)
{
    struct sf_found_service *list = NULL;
    uint32_t n = 0, cap = 0;
    for (uint32_t i = 0; i < v->n_spans; i++) {
        sf_str name = v->resources[v->spans[i].resource].service;
        uint32_t at = 0;
        while (at < n && !sf_str_eq(list[at].name, name))
            at++;
        if (at == n) {
            if (!sf_list_room_in(r->q->req, &list, n, &cap, 8))
                return false;
            list[n] = (struct sf_found_service){0};
            if (!sf_arena_copy(r->q->req, name, &list[n].name))
                return false;
            /* Names are allocated after the list, so growing it copies it: lists are short, so this
             * is rare. */
            n++;
        }
        list[at].n_spans++;
        list[at].n_errors += v->spans[i].status == SF_STATUS_ERROR;
    }
    if (n)
        qsort(list, n, sizeof(*list), search_compare_services);
    t->services = list;
    t->n_services = n;
    return true;
}

static bool search_find_trace(struct run *r, const struct sf_trace_view *v,
                              const struct sf_spansets *sets)
{
    struct sf_found_set *list = sf_arena_new_n(r->q->req, sets->n, sizeof(*list));
    struct sf_found_trace t = {.id = v->id,
                               .start_ns = v->start_ns,
                               .duration_ns = (uint64_t)sf_trace_view_duration_ns(v),
                               .has_root = v->root != SF_VIEW_NONE,
                               .sets = list,
                               .n_sets = sets->n};
    if (!list)
        return false;
    if (t.has_root && (!sf_arena_copy(r->q->req, v->spans[v->root].name, &t.root_name) ||
                       !sf_arena_copy(r->q->req, v->resources[v->spans[v->root].resource].service,
                                      &t.root_service)))
        return false;
    for (uint32_t i = 0; i < sets->n; i++) {
        if (!search_find_set(r, v, &sets->list[i], &list[i]))
            return false;
    }
    if (!count_services(r, v, &t))
        return false;
    if (!sf_list_room_in(r->q->req, &r->traces, r->n, &r->cap, 32))
        return false;
    r->traces[r->n++] = t;
    return true;
}

/* ---- the scan ---- */

static bool search_is_in_range(const struct sf_search *s, uint64_t start_ns, uint64_t end_ns)
{
    if (s->from_ns == 0 && s->to_ns == 0)
        return true;
    return start_ns <= (uint64_t)s->to_ns && end_ns >= (uint64_t)s->from_ns;
}

static bool search_is_wanted(const struct sf_search *s, uint64_t start_ns)
{
    return !s->is_wanted || s->is_wanted(s->match_arg, start_ns);
}

static void search_mark_partial(struct sf_search_result *out, sf_str note)
{
    out->is_partial = true;
    out->note = note;
}

static struct sf_search_result found_so_far(const struct run *r,
                                            const struct sf_trace_stream *stream)
{
    const struct sf_scan_stats *stats = &r->q->stats;
    return (struct sf_search_result){
        .traces = r->traces,
        .n_traces = r->n,
        .is_running = true,
        .n_inspected_traces = stream->n_traces,
        .n_inspected_spans = stats->n_rows > stream->n_spans ? stats->n_rows : stream->n_spans,
        .read_len = stats->read_len,
        .n_blocks = stats->n_blocks};
}

static void tell_progress(const struct run *r, const struct sf_trace_stream *stream)
{
    const struct sf_search *s = r->search;
    struct sf_search_result so_far;
    if (!s->wants_progress || !s->wants_progress(s->progress_arg))
        return;
    so_far = found_so_far(r, stream);
    s->on_progress(s->progress_arg, &so_far);
}

static uint64_t first_start_ns(const struct sf_span_columns *c, uint32_t trace)
{
    uint64_t start_ns = UINT64_MAX;
    for (uint32_t k = c->firsts[trace]; k < c->firsts[trace + 1]; k++)
        start_ns = c->rows.start_ns[k] < start_ns ? c->rows.start_ns[k] : start_ns;
    return start_ns;
}

static uint64_t last_end_ns(const struct sf_span_columns *c, uint32_t trace)
{
    uint64_t end_ns = 0;
    for (uint32_t k = c->firsts[trace]; k < c->firsts[trace + 1]; k++) {
        uint64_t ns = sf_add_sat_u64(c->rows.start_ns[k], c->rows.duration_ns[k]);
        end_ns = ns > end_ns ? ns : end_ns;
    }
    return end_ns;
}

/* Decides by columns, in which a span that ends before it starts ends at its start; the assembled
 * trace decides finally. */
static bool may_be_wanted(const struct sf_search *s, const struct sf_span_columns *c,
                          uint32_t trace)
{
    uint64_t start_ns = first_start_ns(c, trace);
    return search_is_wanted(s, start_ns) && search_is_in_range(s, start_ns, last_end_ns(c, trace));
}

/* Traces that are not needed are neither filtered nor assembled. Start and end of a trace are
 * certain only if it is completely in this granule. */
static enum sf_err judge_wanted(void *arg, struct sf_span_columns *c, uint8_t *hits,
                                struct sf_why *why)
{
    const struct run *r = arg;
    enum sf_err err = c->is_parted ? c->add(c, SF_COL_TRACES | SF_COL_START | SF_COL_DURATION, why)
                                   : SF_OK;
    bool has_any = !c->is_parted;
    for (uint32_t i = 0; !err && c->is_parted && i < c->n_traces; i++) {
        hits[i] = hits[i] && (c->is_parted[i] || may_be_wanted(r->search, c, i));
        has_any = has_any || hits[i];
    }
    return err || !has_any ? err : r->judge->judge(r->judge->arg, c, hits, why);
}

/* ---- counting ---- */

struct counting {
    const struct run *run;
    struct sf_trace_count out;
};

/* Counts what matches, and rejects it, so that nothing is assembled. */
static enum sf_err judge_count(void *arg, struct sf_span_columns *c, uint8_t *hits,
                               struct sf_why *why)
{
    struct counting *n = arg;
    const struct sf_search *s = n->run->search;
    enum sf_err err = n->run->judge->judge(n->run->judge->arg, c, hits, why);
    if (!err && memchr(hits, 1, c->n_traces))
        err = c->add(c, SF_COL_TRACES | SF_COL_START, why);
    for (uint32_t i = 0; !err && i < c->n_traces; i++) {
        if (!hits[i])
            continue;
        uint64_t start_ns = first_start_ns(c, i);
        if ((s->from_ns || s->to_ns) &&
            (start_ns < (uint64_t)s->from_ns || start_ns > (uint64_t)s->to_ns))
            continue;
        n->out.n++;
        n->out.from_ns = start_ns < n->out.from_ns ? start_ns : n->out.from_ns;
        n->out.to_ns = start_ns > n->out.to_ns ? start_ns : n->out.to_ns;
    }
    memset(hits, 0, c->n_traces);
    return err;
}

/* Counts by columns: only traces that are in several places are assembled. */
static enum sf_err search_count(const struct run *r, struct sf_trace_count *out)
{
    struct counting n = {.run = r, .out = {.from_ns = UINT64_MAX, .is_close = r->is_judge_exact}};
    struct sf_span_judge judge = {
        .judge = judge_count, .arg = &n, .wants_parts = r->judge->wants_parts};
    struct sf_span_query query = *r->query;
    struct sf_span_cursor *cursor;
    struct sf_span_rows rows;
    query.judge = &judge;
    enum sf_err err = r->store->ops->span_scan(r->store, &query, r->q, &cursor, r->why);
    if (err)
        return err;
    while (cursor->next(cursor, &rows))
        ;
    err = cursor->err;
    if (err && r->why)
        *r->why = cursor->why;
    cursor->close(cursor);
    *out = n.out;
    return err;
}

static enum sf_err search_give(const struct run *r, const struct sf_trace_view *v,
                               const struct sf_spansets *sets, struct sf_arena *tmp,
                               enum sf_search_go *out)
{
    const struct sf_search *s = r->search;
    struct sf_trace_count n;
    *out = s->on_match(s->match_arg, v, sets, tmp);
    if (*out != SF_SEARCH_COUNT)
        return SF_OK;
    enum sf_err err = search_count(r, &n);
    if (err)
        return err;
    s->on_count(s->match_arg, &n);
    *out = s->on_match(s->match_arg, v, sets, tmp);
    return SF_OK;
}

static enum sf_err search_walk(struct run *r, struct sf_trace_stream *stream,
                               struct sf_search_result *out)
{
    struct sf_trace_view v;
    enum sf_err err = SF_OK;
    while ((r->search->on_match || r->n < r->search->limit) &&
           sf_trace_stream_next(stream, &v, &err, r->why)) {
        struct sf_spansets sets = {0};
        size_t mark = r->q->req->at;
        tell_progress(r, stream);
        if (!search_is_in_range(r->search, v.start_ns, v.end_ns) ||
            !search_is_wanted(r->search, v.start_ns))
            continue;
        if (sf_touched_needs_tree(&r->shown))
            err = sf_trace_view_link(&v, stream->req, r->why);
        if (!err)
            err = sf_eval_pipeline(r->eval, r->pipeline, &v, stream->req, &sets, r->why);
        if (err == SF_ERR_LIMIT && !sf_eval_fault(r->eval, NULL)) {
            sf_trace_stream_leave_out(stream, v.id);
            err = SF_OK;
            continue;
        }
        if (err)
            break;
        if (sets.n && r->search->on_match) {
            enum sf_search_go go;
            r->n_matched++;
            err = search_give(r, &v, &sets, stream->req, &go);
            if (err)
                break;
            if (go == SF_SEARCH_STOP)
                return SF_OK;
        } else if (sets.n && !search_find_trace(r, &v, &sets)) {
            r->q->req->at = mark;
            search_mark_partial(
                out, SF_STR("the answer outgrew the query's memory: older traces are left out"));
            return SF_OK;
        }
    }
    if (err == SF_ERR_DEADLINE && r->n + r->n_matched > 0) {
        search_mark_partial(
            out, SF_STR("the query's time limit was reached: older traces were not searched"));
        return SF_OK;
    }
    return err;
}

/* The store requires the time range and the conditions on the same span; in a trace they may be on
 * two, so the range is extended. */
static int64_t earlier(int64_t ns)
{
    return ns > SF_LIMIT_SEARCH_SLACK_S * SF_NS_PER_S ? ns - SF_LIMIT_SEARCH_SLACK_S * SF_NS_PER_S
                                                      : 0;
}

static int64_t later(int64_t ns)
{
    return ns && ns < INT64_MAX - SF_LIMIT_SEARCH_SLACK_S * SF_NS_PER_S
               ? ns + SF_LIMIT_SEARCH_SLACK_S * SF_NS_PER_S
               : INT64_MAX;
}

/* A trace may overlap the range without a single span in it; without a judge the store would
 * require one. */
static enum sf_err search_take_any(void *arg, struct sf_span_columns *c, uint8_t *hits,
                                   struct sf_why *why)
{
    (void)arg, (void)c, (void)hits, (void)why;
    return SF_OK;
}

static const struct sf_span_judge any_trace = {.judge = search_take_any};

static enum sf_err look_through(struct run *r, struct sf_trace_stream *stream,
                                struct sf_search_result *out)
{
    enum sf_err err = search_walk(r, stream, out);
    sf_str left_out = sf_trace_stream_note(stream, r->q->req);
    if (!out->is_partial && left_out.len)
        search_mark_partial(out, left_out);
    if (!out->is_partial && !r->q->is_exact)
        search_mark_partial(out,
                            SF_STR("some stored data could not be read: traces may be missing; GET "
                                   "/ready shows the reason"));
    if (!out->is_partial && r->q->may_miss_far)
        search_mark_partial(out, SF_MISSES_FAR);
    stream->cursor->close(stream->cursor);
    out->n_inspected_traces = stream->n_traces;
    out->n_inspected_spans = r->q->stats.n_rows > stream->n_spans ? r->q->stats.n_rows
                                                                  : stream->n_spans;
    return err;
}

static enum sf_err search_scan(struct run *r, struct sf_store *store, struct sf_search_result *out)
{
    const struct sf_search *s = r->search;
    struct sf_pushdown down = sf_pushdown_make(r->pipeline, r->q->req);
    struct sf_span_query query = {
        .from_ns = earlier(s->from_ns),
        .to_ns = later(s->to_ns),
        .conds = down.conds,
        .n_conds = down.n,
        .is_all = down.is_all,
        .has_whole_traces = true,
        .is_newest_first = true,
        .n_expected = s->limit,
        .columns = sf_pushdown_columns(r->pipeline) | (s->on_match ? SF_COL_ATTRS : 0),
    };
    struct sf_trace_stream stream = {.req = s->scratch};
    struct sf_trace_judge judge;
    enum sf_err err;
    if (down.is_never)
        return SF_OK;
    err = sf_trace_judge_init(&judge, r->eval, r->pipeline, r->q->req, r->why);
    if (err)
        return err;
    r->judge = judge.root ? &judge.base : &any_trace;
    struct sf_span_judge wanted = {.judge = judge_wanted, .arg = r, .wants_parts = true};
    query.judge = s->is_wanted ? &wanted : r->judge;
    r->query = &query;
    r->is_judge_exact = judge.is_exact;
    err = store->ops->span_scan(store, &query, r->q, &stream.cursor, r->why);
    if (!err)
        err = look_through(r, &stream, out);
    r->judge = NULL;
    r->query = NULL; /* invalid after the return */
    return err;
}

/* Loads the conditions on profiles, before spans are read. */
static enum sf_err load_profiles(struct run *r, struct sf_store *store)
{
    const struct sf_search *s = r->search;
    const struct sf_profile_conds *conds = NULL;
    bool is_all = s->from_ns == 0 && s->to_ns == 0;
    enum sf_err err = sf_profile_conds_load(store, s->query, is_all ? 0 : earlier(s->from_ns),
                                            is_all ? 0 : later(s->to_ns), s->scratch, r->q, &conds,
                                            r->why);
    sf_eval_set_profiles(r->eval, conds);
    return err;
}

/* The pipeline of a metrics query. NULL: there are two queries, each with its own. */
static const struct sf_pipeline *counted_by(const struct sf_metrics *m)
{
    if (m->kind != SF_METRICS_BINARY)
        return m->pipeline; /* NULL if it is a number */
    if (m->left->kind == SF_METRICS_NUMBER)
        return counted_by(m->right);
    return m->right->kind == SF_METRICS_NUMBER ? counted_by(m->left) : NULL;
}

enum sf_err sf_search_run(struct sf_store *store, const struct sf_search *search,
                          struct sf_query_ctx *q, struct sf_search_result *out, struct sf_why *why)
{
    struct run r = {.search = search, .q = q, .store = store, .why = why};
    struct sf_search_result result = {0};
    sf_str text;
    enum sf_err err;

    r.pipeline = search->query->pipeline ? search->query->pipeline
                                         : counted_by(search->query->metrics);
    if (!r.pipeline)
        return sf_fail(why, SF_ERR_INPUT,
                       "math expressions not supported: arithmetic between two metrics queries has "
                       "no spans of its own to search");
    search_show(&r);
    err = sf_eval_new(search->query, &r.eval, why);
    if (!err)
        sf_eval_watch(r.eval, q);
    if (!err)
        err = load_profiles(&r, store);
    if (!err)
        err = search_scan(&r, store, &result);
    text = err ? SF_STR_NONE : sf_profile_conds_note(sf_eval_profiles(r.eval));
    if (!result.is_partial && text.len)
        search_mark_partial(&result, text);
    sf_eval_free(r.eval);
    if (err)
        return err;
    result.traces = r.traces;
    result.n_traces = r.n;
    result.read_len = q->stats.read_len;
    result.n_blocks = q->stats.n_blocks;
    *out = result;
    return SF_OK;
}
