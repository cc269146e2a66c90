/* tags.c - attribute names and values for autocompletion, in one of three ways, cheapest first:
 * operation counts of blocks, the blocks' tables of keys and values, or, for a filter that the
 * store cannot evaluate exactly, evaluating the spans that may match. */
#include "exec/tags.h"

#include "exec/eval.h"
#include "exec/eval_attr.h"
#include "exec/profile_conds.h"
#include "exec/pushdown.h"
#include "exec/tag_set.h"
#include "exec/trace_stream.h"
#include "query/expr_text.h"

enum { ANSWER_LEN = 1000000 }; /* bytes of names or values in one answer */

struct run {
    struct sf_store *store;
    const struct sf_tags *tags;
    const struct sf_expr *filter;     /* NULL: every span */
    const struct sf_query_attr *attr; /* list values of this attribute; NULL: list names */
    struct sf_query_ctx *q;
    struct sf_tag_set sets[SF_SCOPES];       /* names by scope; values in the first one */
    bool wants[SF_SCOPES];                   /* scopes whose names are requested */
    const struct sf_profile_conds *profiles; /* conditions of the filter on profiles; NULL: none */
    struct sf_buf text;
    bool is_late, is_damaged; /* a block could not be read */
    sf_str left_out;
    struct sf_why *why;
};

/* ---- values ---- */

static void add_static(struct run *r, struct sf_static v, uint64_t n)
{
    static const enum sf_tag_type types[] = {
        [SF_TYPE_INT] = SF_TAG_INT,           [SF_TYPE_FLOAT] = SF_TAG_FLOAT,
        [SF_TYPE_DURATION] = SF_TAG_DURATION, [SF_TYPE_STRING] = SF_TAG_STRING,
        [SF_TYPE_BOOL] = SF_TAG_BOOL,         [SF_TYPE_STATUS] = SF_TAG_KEYWORD,
        [SF_TYPE_KIND] = SF_TAG_KEYWORD,
    };
    if (v.type == SF_TYPE_STRING) {
        if (v.str.len) /* an intrinsic without a value is an empty string */
            sf_tag_set_add(&r->sets[0], SF_TAG_STRING, v.str, n);
        return;
    }
    if (v.type == SF_TYPE_NIL || v.type == SF_TYPE_UNKNOWN)
        return;
    sf_buf_reset(&r->text);
    sf_expr_text_static(v, &r->text);
    sf_tag_set_add(&r->sets[0], types[v.type], sf_buf_str(&r->text), n);
}

/* A list counts with each of its elements. */
static void tags_add_value(struct run *r, struct sf_value v, uint64_t n)
{
    struct sf_value_list list;
    struct sf_attr item;
    if (v.type != SF_VALUE_ARRAY) {
        add_static(r, sf_eval_attr_static_from_value(v), n);
        return;
    }
    list = sf_value_list_init(v);
    while (sf_value_list_next(&list, &item))
        add_static(r, sf_eval_attr_static_from_value(item.val), n);
}

/* ---- from what the store knows ---- */

/* Does the store evaluate the conditions exactly like the language, so that no further evaluation
 * is needed? */
static bool is_exact(const struct sf_expr *e)
{
    const struct sf_query_attr *a;
    if (e->kind != SF_EXPR_BINARY)
        return false;
    if (e->op == SF_EXPR_AND)
        return is_exact(e->left) && is_exact(e->right);
    if (e->op != SF_EXPR_EQ || e->left->kind != SF_EXPR_ATTR || e->right->kind != SF_EXPR_LITERAL)
        return false;
    a = &e->left->attr;
    switch (a->intrinsic) {
    case SF_INTRINSIC_NONE:
        return a->scope == SF_SCOPE_RESOURCE && sf_str_eq(a->name, SF_STR("service.name")) &&
               e->right->literal.type == SF_TYPE_STRING;
    case SF_INTRINSIC_NAME: return e->right->literal.type == SF_TYPE_STRING;
    case SF_INTRINSIC_STATUS: return e->right->literal.type == SF_TYPE_STATUS;
    case SF_INTRINSIC_KIND: return e->right->literal.type == SF_TYPE_KIND;
    default: return false;
    }
}

/* For values, as many as are returned; for names, all, since frequent names must not hide
 * others. */
static uint32_t enough_of(const struct run *r)
{
    return r->attr && r->tags->limit <= SF_TAG_SET_MAX ? (uint32_t)r->tags->limit : 0;
}

static enum sf_err ask_store(struct run *r, enum sf_attr_scope scope,
                             const struct sf_pushdown *down)
{
    struct sf_tag_query query = {.scope = scope,
                                 .name = scope == SF_SCOPE_INTRINSIC ? SF_STR("name")
                                         : r->attr                   ? r->attr->name
                                                                     : SF_STR_NONE,
                                 .conds = down->conds,
                                 .n_conds = down->n,
                                 .from_ns = r->tags->from_ns,
                                 .to_ns = r->tags->to_ns,
                                 .limit = SF_TAG_SET_MAX,
                                 .enough = enough_of(r)};
    struct sf_tag_set *names = &r->sets[scope];
    struct sf_str_cursor *cursor;
    struct sf_value v;
    uint32_t n = 0;
    bool has_more;
    enum sf_err err = r->store->ops->span_tags(r->store, &query, r->q, &cursor, r->why);
    if (err)
        return err;
    while (cursor->next(cursor, &v)) {
        if (r->attr)
            tags_add_value(r, v, cursor->n);
        else
            sf_tag_set_add(names, SF_TAG_STRING, v.str, cursor->n);
        n++;
    }
    err = cursor->err;
    if (err && r->why)
        *r->why = cursor->why;
    r->is_damaged = r->is_damaged || !r->q->is_exact;
    has_more = cursor->has_more;
    cursor->close(cursor);
    if (n >= SF_TAG_SET_MAX || has_more)
        (r->attr ? &r->sets[0] : names)->is_full = true;
    return err;
}

static enum sf_err ask_scopes(struct run *r, const struct sf_pushdown *down)
{
    enum sf_err err = SF_OK;
    if (r->attr && r->attr->scope != SF_SCOPE_ANY)
        return ask_store(r, r->attr->scope, down);
    if (r->attr) { /* .x is searched in both */
        err = ask_store(r, SF_SCOPE_SPAN, down);
        return err ? err : ask_store(r, SF_SCOPE_RESOURCE, down);
    }
    for (enum sf_attr_scope s = SF_SCOPE_RESOURCE; !err && s < SF_SCOPES; s++) {
        if (r->wants[s])
            err = ask_store(r, s, down);
    }
    return err;
}

/* ---- from the spans themselves ---- */

static void tags_add_keys(struct run *r, enum sf_attr_scope scope, struct sf_attrs attrs)
{
    for (uint32_t i = 0; i < attrs.n; i++)
        sf_tag_set_add(&r->sets[scope], SF_TAG_STRING, attrs.list[i].key, 1);
}

static void tags_add_names(struct run *r, const struct sf_trace_view *v, uint32_t place)
{
    const struct sf_span *s = &v->spans[place];
    if (r->wants[SF_SCOPE_RESOURCE])
        tags_add_keys(r, SF_SCOPE_RESOURCE, v->resources[s->resource].attrs);
    if (r->wants[SF_SCOPE_SPAN])
        tags_add_keys(r, SF_SCOPE_SPAN, s->attrs);
    if (r->wants[SF_SCOPE_INSTRUMENTATION])
        tags_add_keys(r, SF_SCOPE_INSTRUMENTATION, v->scopes[s->scope].attrs);
    for (uint32_t i = 0; i < s->n_events && r->wants[SF_SCOPE_EVENT]; i++)
        tags_add_keys(r, SF_SCOPE_EVENT, s->events[i].attrs);
    for (uint32_t i = 0; i < s->n_links && r->wants[SF_SCOPE_LINK]; i++)
        tags_add_keys(r, SF_SCOPE_LINK, s->links[i].attrs);
}

static void add_values(struct run *r, const struct sf_trace_view *v, uint32_t place)
{
    struct sf_eval_values values = {0};
    struct sf_attr item;
    while (sf_eval_attr_values_next(&values, r->attr, v, place)) {
        if (!values.is_array) {
            add_static(r, values.one, 1);
            continue;
        }
        while (sf_value_list_next(&values.array, &item))
            add_static(r, sf_eval_attr_static_from_value(item.val), 1);
    }
}

static enum sf_err tags_walk(struct run *r, struct sf_eval *eval, struct sf_trace_stream *stream)
{
    struct sf_trace_view v;
    enum sf_err err = SF_OK;
    bool has_tree = r->filter && sf_eval_expr_needs_tree(r->filter), has_any = false;
    while (sf_trace_stream_next(stream, &v, &err, r->why)) {
        if ((has_tree && sf_trace_view_link(&v, stream->req, r->why)) ||
            (r->profiles && sf_profile_conds_apply(r->profiles, &v, stream->req, r->why))) {
            sf_trace_stream_leave_out(stream, v.id);
            continue;
        }
        for (uint32_t i = 0; i < v.n_spans && (!eval || sf_eval_goes_on(eval)); i++) {
            if (r->filter && !sf_eval_is_true(eval, r->filter, &v, i))
                continue;
            has_any = true;
            if (r->attr)
                add_values(r, &v, i);
            else
                tags_add_names(r, &v, i);
        }
        if (eval && (err = sf_eval_fault(eval, r->why)))
            break;
    }
    if (!err && eval)
        err = sf_eval_fault(eval, r->why);
    if (err == SF_ERR_DEADLINE && has_any) {
        r->is_late = true;
        return SF_OK;
    }
    return err;
}

static uint32_t tags_columns_of(const struct run *r)
{
    static const uint32_t by_scope[SF_SCOPES] = {
        [SF_SCOPE_RESOURCE] = SF_COL_RESOURCE,     [SF_SCOPE_SPAN] = SF_COL_ATTRS,
        [SF_SCOPE_EVENT] = SF_COL_EVENTS,          [SF_SCOPE_LINK] = SF_COL_LINKS,
        [SF_SCOPE_INSTRUMENTATION] = SF_COL_SCOPE,
    };
    uint32_t columns = SF_COL_PARENT | SF_COL_TIMES | SF_COL_KIND | SF_COL_NAME | SF_COL_RESOURCE;
    columns |= sf_pushdown_expr_columns(r->filter);
    if (r->attr)
        return columns | sf_pushdown_attr_columns(r->attr);
    for (unsigned s = 0; s < SF_SCOPES; s++)
        columns |= r->wants[s] ? by_scope[s] : 0;
    return columns;
}

static enum sf_err tags_scan(struct run *r, const struct sf_pushdown *down)
{
    struct sf_span_query query = {.from_ns = r->tags->from_ns,
                                  .to_ns = r->tags->to_ns ? r->tags->to_ns : INT64_MAX,
                                  .conds = down->conds,
                                  .n_conds = down->n,
                                  .is_all = down->is_all,
                                  .has_whole_traces = true,
                                  .is_newest_first = true,
                                  .columns = tags_columns_of(r)};
    struct sf_trace_stream stream = {.req = r->tags->scratch};
    struct sf_eval *eval = NULL;
    enum sf_err err = SF_OK;
    if (r->filter)
        err = sf_eval_new(r->tags->filter, &eval, r->why);
    if (eval) {
        sf_eval_watch(eval, r->q);
        err = sf_profile_conds_load(r->store, r->tags->filter, query.from_ns, r->tags->to_ns,
                                    r->tags->scratch, r->q, &r->profiles, r->why);
    }
    if (!err)
        err = r->store->ops->span_scan(r->store, &query, r->q, &stream.cursor, r->why);
    if (!err) {
        err = tags_walk(r, eval, &stream);
        r->left_out = sf_trace_stream_note(&stream, r->q->req);
        if (!r->left_out.len)
            r->left_out = sf_profile_conds_note(r->profiles);
        r->is_damaged = !r->q->is_exact;
        stream.cursor->close(stream.cursor);
    }
    sf_eval_free(eval);
    return err;
}

/* Counts of operations are stored per block: no span has to be read. */
static enum sf_err ask_operations(struct run *r)
{
    struct sf_operation_rows rows = {0};
    enum sf_err err = r->store->ops->operations(r->store, r->tags->from_ns,
                                                r->tags->to_ns ? r->tags->to_ns : INT64_MAX, r->q,
                                                &rows, r->why);
    for (uint32_t i = 0; !err && i < rows.n; i++)
        sf_tag_set_add(&r->sets[0], SF_TAG_STRING, rows.rows[i].name, rows.rows[i].all.n_spans);
    r->is_damaged = !r->q->is_exact;
    return err;
}

static enum sf_err tags_gather(struct run *r)
{
    struct sf_pushdown down = {0};
    const struct sf_query *f = r->tags->filter;
    bool is_known;
    for (unsigned s = 0; s < SF_SCOPES; s++)
        r->sets[s].req = r->q->req;
    if (f) {
        down = sf_pushdown_make(f->pipeline, r->q->req);
        r->filter = f->pipeline->stages[0].spanset->filter;
        if (r->filter && r->filter->kind == SF_EXPR_LITERAL) /* { }, or is_never */
            r->filter = NULL;
    }
    if (down.is_never)
        return SF_OK;
    is_known = !r->filter || (is_exact(r->filter) && down.is_all);
    if (!is_known || (r->attr && r->attr->intrinsic && r->attr->intrinsic != SF_INTRINSIC_NAME))
        return tags_scan(r, &down);
    if (r->attr && r->attr->intrinsic)
        return r->filter ? ask_store(r, SF_SCOPE_INTRINSIC, &down) : ask_operations(r);
    return ask_scopes(r, &down);
}

/* ---- answers ---- */

static void note_limits(const struct run *r, bool is_whole, struct sf_tags_result *out)
{
    out->read_len = r->q->stats.read_len;
    out->n_blocks = r->q->stats.n_blocks;
    out->is_partial = true;
    if (r->is_late)
        out->note = SF_STR("the query's time limit was reached: older spans were not read");
    else if (r->left_out.len)
        out->note = r->left_out;
    else if (r->is_damaged)
        out->note = SF_STR("some stored data could not be read: names and values may be missing; "
                           "GET /ready shows the reason");
    else if (!is_whole)
        out->note = SF_STR("more than the limit: only the most frequent ones are returned");
    else
        out->is_partial = false;
}

static enum sf_err add_intrinsics(struct run *r, struct sf_tags_result *out)
{
    static const char *const names[] = {"duration",
                                        "event:name",
                                        "event:timeSinceStart",
                                        "instrumentation:name",
                                        "instrumentation:version",
                                        "kind",
                                        "link:spanID",
                                        "link:traceID",
                                        "name",
                                        "profile.alloc",
                                        "profile.block",
                                        "profile.cpu",
                                        "profile.frame",
                                        "profile.lock",
                                        "profile.off_cpu",
                                        "profile.wall",
                                        "rootName",
                                        "rootServiceName",
                                        "span:duration",
                                        "span:id",
                                        "span:kind",
                                        "span:name",
                                        "span:parentID",
                                        "span:status",
                                        "span:statusMessage",
                                        "status",
                                        "statusMessage",
                                        "trace:duration",
                                        "trace:id",
                                        "trace:rootName",
                                        "trace:rootService",
                                        "traceDuration"};
    enum { N = sizeof(names) / sizeof(names[0]) };
    struct sf_tag_value *list = sf_arena_new_n(r->q->req, N, sizeof(*list));
    if (!list)
        return sf_fail(r->why, SF_ERR_LIMIT, "tags do not fit a query's memory");
    for (uint32_t i = 0; i < N; i++)
        list[i] = (struct sf_tag_value){.type = SF_TAG_STRING, .text = sf_str_from(names[i])};
    out->scopes[out->n_scopes++] = (struct sf_tag_scope){SF_SCOPE_INTRINSIC, list, N};
    return SF_OK;
}

enum sf_err sf_tags_names(struct sf_store *store, const struct sf_tags *tags,
                          enum sf_attr_scope scope, struct sf_query_ctx *q,
                          struct sf_tags_result *out, struct sf_why *why)
{
    struct run r = {.store = store, .tags = tags, .q = q, .why = why};
    struct sf_tags_result result = {0};
    size_t room = ANSWER_LEN;
    bool is_whole = true;
    enum sf_err err = SF_OK;
    for (enum sf_attr_scope s = SF_SCOPE_RESOURCE; s < SF_SCOPES; s++)
        r.wants[s] = scope == SF_SCOPE_ANY || scope == s;
    if (scope != SF_SCOPE_INTRINSIC)
        err = tags_gather(&r);
    sf_buf_done(&r.text);
    if (err)
        return err;
    for (enum sf_attr_scope s = SF_SCOPE_RESOURCE; s < SF_SCOPES; s++) {
        struct sf_tag_set *set = &r.sets[s];
        sf_tag_set_sort(set); /* so that a limit drops the rarest */
        is_whole = sf_tag_set_cut(set, tags->limit, &room) && !set->is_full && is_whole;
        sf_tag_set_sort_by_text(set);
        if (set->n)
            result.scopes[result.n_scopes++] = (struct sf_tag_scope){s, set->list, set->n};
    }
    if (scope == SF_SCOPE_ANY || scope == SF_SCOPE_INTRINSIC)
        err = add_intrinsics(&r, &result);
    if (err)
        return err;
    note_limits(&r, is_whole, &result);
    *out = result;
    return SF_OK;
}

static bool has_no_list(enum sf_intrinsic i)
{
    switch (i) {
    case SF_INTRINSIC_NONE:
    case SF_INTRINSIC_NAME:
    case SF_INTRINSIC_STATUS:
    case SF_INTRINSIC_KIND:
    case SF_INTRINSIC_STATUS_MESSAGE:
    case SF_INTRINSIC_ROOT_NAME:
    case SF_INTRINSIC_ROOT_SERVICE:
    case SF_INTRINSIC_EVENT_NAME:
    case SF_INTRINSIC_SCOPE_NAME:
    case SF_INTRINSIC_SCOPE_VERSION: return false;
    default: return true;
    }
}

static void add_keywords(struct run *r)
{
    static const char *const status[] = {"error", "ok", "unset"};
    static const char *const kind[] = {"client",   "consumer", "internal",
                                       "producer", "server",   "unspecified"};
    bool is_status = r->attr->intrinsic == SF_INTRINSIC_STATUS;
    for (size_t i = 0; i < (is_status ? 3 : 6); i++)
        sf_tag_set_add(&r->sets[0], SF_TAG_KEYWORD, sf_str_from(is_status ? status[i] : kind[i]),
                       0);
}

enum sf_err sf_tags_values(struct sf_store *store, const struct sf_tags *tags,
                           const struct sf_query_attr *attr, struct sf_query_ctx *q,
                           struct sf_tags_result *out, struct sf_why *why)
{
    struct run r = {.store = store, .tags = tags, .attr = attr, .q = q, .why = why};
    struct sf_tags_result result = {0};
    size_t room = ANSWER_LEN;
    bool is_whole;
    enum sf_err err = SF_OK;
    r.sets[0].req = q->req;
    if (attr->intrinsic == SF_INTRINSIC_STATUS || attr->intrinsic == SF_INTRINSIC_KIND)
        add_keywords(&r);
    else if (!has_no_list(attr->intrinsic))
        err = tags_gather(&r);
    sf_buf_done(&r.text);
    if (err)
        return err;
    sf_tag_set_sort(&r.sets[0]);
    is_whole = sf_tag_set_cut(&r.sets[0], tags->limit, &room) && !r.sets[0].is_full;
    result.values = r.sets[0].list;
    result.n_values = r.sets[0].n;
    note_limits(&r, is_whole, &result);
    *out = result;
    return SF_OK;
}
