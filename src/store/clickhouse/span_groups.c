/* span_groups.c - spans that the shards counted (group_sql.h), and rows of this node, in one view.
 *
 * After the statement the shards are asked which traces have repeated spans: that covers all rows
 * that it has read. If there are some that were not yet rows, it is repeated with them. */
#include "store/clickhouse/span_groups.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/heap.h"
#include "base/time_unit.h"
#include "model/span_rows.h"
#include "store/clickhouse/group_sql.h"
#include "store/clickhouse/span_gather.h"
#include "store/local/view.h"

enum {
    MOST_OWN = 400000, /* rows of this node */
    TRIES = 3,
    BUCKET_S = 300,
    WIDE = SF_COL_ATTRS | SF_COL_EVENTS | SF_COL_LINKS | SF_COL_REST
};

/* ---- the cursor ---- */

struct groups_cursor {
    struct sf_column_cursor base;
    struct sf_remote_source source;
    struct sf_group_checks *checks;
    struct sf_query_ctx *q;
    struct sf_span_query query;
    struct sf_span_gather gather;
    struct sf_trace_set whole;
    struct sf_store *view;
    struct sf_column_cursor *inner;
    struct sf_table at; /* gather.found.rows that are groups, by span */
    uint32_t n_own;
};

static uint64_t key_of(sf_trace_id trace, sf_span_id span, uint8_t kind)
{
    return sf_key_mix(sf_trace_id_key(trace, kind), span);
}

static const struct sf_span_answer_row *group_of(const struct groups_cursor *c, sf_trace_id trace,
                                                 sf_span_id span, uint8_t kind)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!c->at.n_slots)
        return NULL;
    lookup = sf_table_lookup(&c->at, key_of(trace, span, kind));
    while (sf_table_next(&lookup, &at)) {
        const struct sf_span *s = &c->gather.found.rows[at].span;
        if (s->span_id == span && s->kind == kind && sf_trace_id_eq(s->trace_id, trace))
            return &c->gather.found.rows[at];
    }
    return NULL;
}

static enum sf_err groups_remember(struct groups_cursor *c, struct sf_why *why)
{
    const struct sf_span_answer *found = &c->gather.found;
    for (uint32_t i = 0; i < found->n_rows; i++) {
        const struct sf_span *s = &found->rows[i].span;
        if (found->rows[i].n_same == 1 && isnan(found->rows[i].sum))
            continue; /* like any row */
        if (!sf_table_more(&c->at))
            return sf_no_memory(why, "the groups of a query");
        sf_table_put(&c->at, key_of(s->trace_id, s->span_id, s->kind), i);
    }
    return SF_OK;
}

static enum sf_err show_groups(const struct groups_cursor *c, struct sf_span_columns *cols,
                               struct sf_why *why)
{
    const struct sf_span_rows *rows = &cols->rows;
    uint64_t *n = sf_arena_new_n(cols->scratch, rows->n_rows + 1, sizeof(*n));
    double *sums = sf_arena_new_n(cols->scratch, rows->n_rows + 1, sizeof(*sums));
    enum sf_err err = n && sums ? cols->add(cols, SF_COL_IDS | SF_COL_KIND, why)
                                : sf_no_room(why, "the query");
    for (uint32_t i = 0; !err && i < rows->n_rows; i++) {
        const struct sf_span_answer_row *g = group_of(c, rows->trace_id[i], rows->span_id[i],
                                                      rows->kind[i]);
        n[i] = g ? g->n_same : 1;
        sums[i] = g ? g->sum : NAN;
    }
    cols->n_same = n;
    cols->sums = sums;
    cols->keep = NULL;
    cols->recall = NULL;
    cols->group.number = 0;
    return err;
}

static struct sf_span_columns *groups_next(struct sf_column_cursor *base)
{
    struct groups_cursor *c = (struct groups_cursor *)base;
    struct sf_span_columns *out = base->err ? NULL : c->inner->next(c->inner);
    if (out)
        base->err = show_groups(c, out, &base->why);
    else if (!base->err) {
        base->err = c->inner->err;
        base->why = c->inner->why;
        base->n_left_out = c->inner->n_left_out;
        base->left_out = c->inner->left_out;
    }
    return base->err ? NULL : out;
}

static void groups_close(struct sf_column_cursor *base)
{
    struct groups_cursor *c = (struct groups_cursor *)base;
    if (!c)
        return;
    if (c->inner)
        c->inner->close(c->inner);
    sf_view_close(c->view);
    sf_span_gather_done(&c->gather);
    sf_trace_set_done(&c->whole);
    sf_table_done(&c->at);
    sf_heap_free(c);
}

/* ---- this node's rows ---- */

struct own_spans { /* rows of this node that start within the steps */
    struct sf_span_cursor base;
    struct sf_span_cursor *from;
    struct groups_cursor *c;
    enum sf_err err;
    struct sf_why why;
    uint8_t is_in[SF_ROWS_MAX];
};

static bool starts_in(const struct sf_span_grouping *g, uint64_t start_ns)
{
    int64_t at_ns = (int64_t)start_ns;
    return start_ns <= (uint64_t)INT64_MAX &&
           at_ns <= g->from_ns + (int64_t)g->n_steps * g->step_ns &&
           (at_ns > g->from_ns || (at_ns == g->from_ns && g->is_closed));
}

static bool groups_own_next(struct sf_span_cursor *base, struct sf_span_rows *out)
{
    struct own_spans *o = (struct own_spans *)base;
    if (o->err || !o->from->next(o->from, out)) {
        base->err = o->err ? o->err : o->from->err;
        base->why = o->err ? o->why : o->from->why;
        return false;
    }
    for (uint32_t i = 0; i < out->n_rows; i++)
        o->is_in[i] = (!out->is_in || out->is_in[i]) &&
                      starts_in(o->c->query.grouping, out->start_ns[i]);
    out->is_in = o->is_in;
    return true;
}

static void see_own(void *arg, sf_trace_id id, uint64_t start_ns)
{
    struct own_spans *o = arg;
    (void)start_ns;
    if (!o->err && ++o->c->n_own > MOST_OWN)
        o->err = sf_fail(&o->why, SF_ERR_LIMIT, "more than %d spans wait for ClickHouse", MOST_OWN);
    if (!o->err)
        o->err = sf_trace_set_add(&o->c->whole, id, &o->why);
}

static enum sf_err groups_read_own(struct groups_cursor *c, struct sf_store *recent,
                                   struct sf_why *why)
{
    struct own_spans *o = sf_heap_new(sizeof(*o));
    struct sf_span_query own = {.from_ns = c->query.from_ns,
                                .to_ns = c->query.to_ns,
                                .conds = c->query.conds,
                                .n_conds = c->query.n_conds,
                                .is_all = c->query.is_all};
    enum sf_err err;
    if (!o)
        return sf_no_memory(why, "this node's rows");
    own.columns = sf_span_gather_needs_attrs(&c->query) ? SF_COL_ALL : SF_COL_ALL & ~WIDE;
    o->c = c;
    o->base.next = groups_own_next;
    err = c->source.own_ops->span_scan(recent, &own, c->q, &o->from, why);
    if (!err) {
        err = sf_span_gather_own(&o->base, c->view, see_own, o, why);
        if (!err && o->err) {
            err = o->err;
            *why = o->why;
        }
        o->from->close(o->from);
    }
    sf_heap_free(o);
    return err;
}

/* Rows of this node that may not be in ClickHouse yet. UNSUPPORTED: there are too many, or
 * others. */
static enum sf_err groups_add_own(struct groups_cursor *c, uint64_t shipped_lsn, struct sf_why *why)
{
    struct sf_store *recent = NULL;
    bool is_all = false;
    enum sf_err err = sf_view_open(c->source.store, &recent, why);
    if (!err)
        err = sf_view_lend_recent(recent, c->q, shipped_lsn, c->source.history_lsn,
                                  c->query.from_ns, c->query.to_ns, &is_all, why);
    if (!err && !is_all)
        err = sf_fail(why, SF_ERR_UNSUPPORTED, "this node has rows of its own");
    if (!err)
        err = groups_read_own(c, recent, why);
    sf_view_close(recent);
    return err;
}

/* ---- the shards' rows ---- */

static enum sf_err groups_ask(struct groups_cursor *c, struct sf_why *why)
{
    struct sf_buf sql = {0};
    enum sf_err err;
    sf_group_sql_put(&c->source, &c->query, c->q, &c->whole, &sql);
    err = sf_span_gather_ask(&c->gather, &sql, SF_GROUP_SQL_MOST, why);
    sf_buf_done(&sql);
    if (!err && c->gather.is_cut)
        err = sf_fail(why, SF_ERR_UNSUPPORTED, "more than %d groups of spans", SF_GROUP_SQL_MOST);
    return err;
}

static uint32_t groups_second(int64_t ns)
{
    int64_t s = ns / SF_NS_PER_S;
    return s < 0 ? 0 : s > UINT32_MAX ? UINT32_MAX : (uint32_t)s;
}

static enum sf_err groups_add_shards(struct groups_cursor *c, struct sf_why *why)
{
    uint32_t low_s = groups_second(c->query.from_ns - BUCKET_S * SF_NS_PER_S),
             high_s = groups_second(c->query.to_ns);
    enum sf_err err;
    for (int i = 0; i < TRIES; i++) {
        uint32_t n = c->whole.n;
        err = groups_ask(c, why);
        if (!err)
            err = sf_group_checks_run(c->checks, &c->source, c->q, low_s, high_s, &c->whole, why);
        if (err || c->whole.n == n)
            return err;
    }
    return sf_fail(why, SF_ERR_UNSUPPORTED, "spans are stored again and again");
}

static enum sf_err groups_fill(struct groups_cursor *c, struct sf_why *why)
{
    uint64_t shipped_lsn = c->source.shipped_lsn(c->source.arg); /* before this node's rows */
    enum sf_err err = sf_view_open(c->source.store, &c->view, why);
    if (!err)
        err = groups_add_own(c, shipped_lsn, why);
    if (!err)
        err = sf_span_gather_init(&c->gather, &c->source, c->q, why);
    if (err)
        return err;
    c->gather.found.has_groups = true;
    c->gather.found.keys = c->query.want_keys;
    c->gather.found.n_keys = c->query.n_want;
    err = groups_add_shards(c, why);
    if (!err)
        err = sf_span_gather_add(&c->gather, c->view, why);
    if (!err)
        err = groups_remember(c, why);
    if (!err)
        err = sf_view_seal(c->view, why);
    return err;
}

static bool groups_can(const struct sf_remote_source *source, const struct sf_span_query *query,
                       const struct sf_query_ctx *q)
{
    const struct sf_span_grouping *g = query->grouping;
    static const uint32_t of_one = SF_COL_PARENT | WIDE;
    return g && q->n_tenants == 1 && !source->has_left_out && !(query->columns & of_one) &&
           g->n_steps && g->step_ns > 0 && query->to_ns > query->from_ns;
}

enum sf_err sf_span_groups_open(struct sf_group_checks *checks,
                                const struct sf_remote_source *source,
                                const struct sf_span_query *query, struct sf_query_ctx *q,
                                struct sf_column_cursor **out, struct sf_why *why)
{
    struct groups_cursor *c;
    enum sf_err err;
    if (!groups_can(source, query, q))
        return SF_ERR_UNSUPPORTED;
    c = sf_heap_new(sizeof(*c));
    if (!c)
        return sf_no_memory(why, "a search");
    c->base = (struct sf_column_cursor){.next = groups_next, .close = groups_close};
    c->source = *source;
    c->checks = checks;
    c->q = q;
    c->query = *query;
    err = groups_fill(c, why);
    c->query.question = (sf_bytes){0};
    c->query.grouping = NULL;
    if (!err)
        err = source->own_ops->span_columns(c->view, &c->query, q, &c->inner, why);
    if (err) {
        groups_close(&c->base);
        return err == SF_ERR_LIMIT ? SF_ERR_UNSUPPORTED : err;
    }
    *out = &c->base;
    return SF_OK;
}
