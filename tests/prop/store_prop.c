/* The embedded store against a list that is searched from end to end: the same rows scattered at
 * random over memtables, parts, level-0 and level-1 blocks, closed and opened in between. */
#include "test.h"

#include "store/local/write/compact.h"
#include "store/local/write/seal.h"
#include "support/store_rig.h"

enum { MAX_ROWS = 20000, N_TENANTS = 3 };

struct model_row {
    struct sf_span span;
    const struct sf_resource *resource;
    uint32_t tenant;
    bool is_gone; /* a better copy came */
};

struct model {
    struct store_rig rig;
    struct sf_otlp_make make;
    struct sf_arena keep;
    struct model_row *rows;
    uint32_t n;
    bool has_repeats;
};

static bool same_identity(const struct model_row *a, const struct model_row *b)
{
    return a->tenant == b->tenant && a->span.span_id == b->span.span_id &&
           a->span.kind == b->span.kind && sf_trace_id_eq(a->span.trace_id, b->span.trace_id);
}

static void model_add(struct model *m, uint32_t tenant, const struct sf_span_batch *b)
{
    for (uint32_t i = 0; i < b->n_spans; i++) {
        struct model_row row = {b->spans[i], &b->resources[b->spans[i].resource], tenant, false};
        for (uint32_t k = 0; k < m->n && m->has_repeats; k++) {
            if (m->rows[k].is_gone || !same_identity(&m->rows[k], &row))
                continue;
            if (sf_span_is_better(&m->rows[k].span, &row.span))
                m->rows[k].is_gone = true;
            else
                row.is_gone = true;
        }
        assert_true(m->n < MAX_ROWS);
        m->rows[m->n++] = row;
    }
}

/* Some spans of before once more, some of them longer: they replace the first copy. */
static void make_repeats(struct model *m, struct sf_span_batch *out)
{
    uint32_t n = (uint32_t)sf_otlp_make_below(&m->make, 20) + 1;
    struct sf_span *spans = sf_arena_new_n(&m->keep, n, sizeof(*spans));
    struct sf_resource *resources = sf_arena_new_n(&m->keep, n, sizeof(*resources));
    struct sf_scope *scope = sf_arena_new(&m->keep, sizeof(*scope));
    for (uint32_t i = 0; i < n; i++) {
        const struct model_row *row = &m->rows[sf_otlp_make_below(&m->make, m->n)];
        spans[i] = row->span;
        spans[i].end_ns += sf_otlp_make_below(&m->make, 2) * 1000;
        resources[i] = *row->resource;
        spans[i].resource = i;
        spans[i].scope = 0;
    }
    *out = (struct sf_span_batch){resources, scope, spans, n, 1, n};
}

static void do_something(struct model *m)
{
    struct store_rig *r = &m->rig;
    struct sf_span_batch b;
    uint32_t tenant = (uint32_t)sf_otlp_make_below(&m->make, N_TENANTS) + 1;
    unsigned writer = (unsigned)sf_otlp_make_below(&m->make, 2);
    switch (sf_otlp_make_below(&m->make, 12)) {
    case 0: assert_ok(r->store->ops->flush(r->store, &r->why)); break;
    case 1: assert_ok(sf_compact_all(store_rig_local(r), &r->why)); break;
    case 2: assert_ok(sf_seal_all(store_rig_local(r), 0, &r->why)); break;
    case 3:
        store_rig_close(r);
        assert_ok(store_rig_open(r));
        break;
    case 4: /* time goes by, or an old sender wakes up */
        m->make.now_ns += sf_otlp_make_below(&m->make, 5000) * 1000000000;
        break;
    case 5:
        if (m->has_repeats && m->n) {
            make_repeats(m, &b);
            tenant = m->rows[0].tenant;
            for (uint32_t i = 0; i < b.n_spans; i++)
                tenant = tenant ? tenant : 1;
            /* Repeats of several tenants' spans under one tenant are new spans there: fine. */
            assert_ok(store_put(r, writer, tenant, &b, 0));
            model_add(m, tenant, &b);
            break;
        }
        /* fall through */
    default:
        sf_otlp_make_batch(&m->make, (uint32_t)sf_otlp_make_below(&m->make, 120) + 1, &m->keep, &b);
        assert_ok(store_put(r, writer, tenant, &b, 0));
        model_add(m, tenant, &b);
        break;
    }
}

static void model_init(struct model *m, uint64_t seed, bool has_repeats)
{
    memset(m, 0, sizeof(*m));
    store_rig_init(&m->rig);
    m->rig.config.tuning.compact_blocks = 2;
    m->rig.config.tuning.merge_rows = 400;
    m->rig.config.tuning.block_rows = 900;
    m->rig.config.tuning.carry_rows = 1 + (uint32_t)(seed % 3) * 50;
    m->rig.config.tuning.memtable_len = 96 << 10;
    assert_true(sf_arena_init(&m->keep, (size_t)1 << 30));
    m->rows = calloc(MAX_ROWS, sizeof(*m->rows));
    m->has_repeats = has_repeats;
    sf_otlp_make_init(&m->make, seed, UINT64_C(1763250000) * 1000000000);
    assert_ok(store_rig_open(&m->rig));
    for (uint32_t i = 2; i <= N_TENANTS; i++) {
        char name[8];
        uint32_t id;
        snprintf(name, sizeof(name), "t%u", i);
        assert_ok(
            m->rig.store->ops->tenant(m->rig.store, sf_str_from(name), true, &id, &m->rig.why));
        assert_int_equal(id, i);
    }
}

static void model_done(struct model *m)
{
    free(m->rows);
    store_rig_done(&m->rig);
    sf_arena_done(&m->keep);
}

/* ---- comparing ---- */

static int by_id(const void *a, const void *b)
{
    const struct sf_span *x = a, *y = b;
    if (x->span_id != y->span_id)
        return x->span_id < y->span_id ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

static void assert_same_attrs(struct sf_attrs a, struct sf_attrs b)
{
    assert_int_equal(a.n, b.n);
    for (uint32_t i = 0; i < a.n; i++) {
        struct sf_value other = sf_attrs_get(b, a.list[i].key);
        assert_true(sf_value_eq(sf_attrs_get(a, a.list[i].key), other));
    }
}

static void assert_same_span(const struct sf_span *a, const struct sf_span *b)
{
    assert_true(sf_trace_id_eq(a->trace_id, b->trace_id));
    assert_true(a->span_id == b->span_id && a->parent_id == b->parent_id);
    assert_true(a->start_ns == b->start_ns && a->end_ns == b->end_ns);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->status, b->status);
    assert_true(sf_str_eq(a->name, b->name));
    assert_true(sf_str_eq(a->status_msg, b->status_msg));
    assert_true(sf_str_eq(a->trace_state, b->trace_state));
    assert_int_equal(a->flags, b->flags);
    assert_same_attrs(a->attrs, b->attrs);
    assert_int_equal(a->n_events, b->n_events);
    for (uint32_t i = 0; i < a->n_events; i++) {
        assert_true(a->events[i].time_ns == b->events[i].time_ns);
        assert_true(sf_str_eq(a->events[i].name, b->events[i].name));
        assert_same_attrs(a->events[i].attrs, b->events[i].attrs);
    }
    assert_int_equal(a->n_links, b->n_links);
    for (uint32_t i = 0; i < a->n_links; i++)
        assert_true(a->links[i].span_id == b->links[i].span_id);
}

/* The model's spans of one trace, by id, in the rig's arena. */
static struct sf_span *spans_of(struct model *m, uint32_t tenant, sf_trace_id id, uint32_t *out_n)
{
    struct sf_span *list = sf_arena_new_n(&m->rig.arena, m->n + 1, sizeof(*list));
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        if (!m->rows[i].is_gone && m->rows[i].tenant == tenant &&
            sf_trace_id_eq(m->rows[i].span.trace_id, id))
            list[n++] = m->rows[i].span;
    }
    qsort(list, n, sizeof(*list), by_id);
    *out_n = n;
    return list;
}

static void compare_trace(struct model *m, uint32_t tenant, sf_trace_id id)
{
    struct sf_arena before = m->rig.arena;
    struct store_answer a = store_trace(&m->rig, tenant, id);
    uint32_t n;
    struct sf_span *want = spans_of(m, tenant, id, &n);
    assert_ok(a.err);
    assert_int_equal(a.n, n);
    for (uint32_t i = 1; i < a.n; i++)
        assert_true(a.spans[i - 1].start_ns <= a.spans[i].start_ns);
    if (a.n)
        qsort(a.spans, a.n, sizeof(*a.spans), by_id);
    for (uint32_t i = 0; i < n; i++)
        assert_same_span(&a.spans[i], &want[i]);
    m->rig.arena = before;
}

struct trace { /* of the model: where it starts */
    sf_trace_id id;
    uint64_t start_ns;
};

static int newest_first(const void *a, const void *b)
{
    const struct trace *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns > y->start_ns ? -1 : 1;
    return sf_trace_id_cmp(x->id, y->id);
}

static bool matches(const struct model_row *row, const struct sf_span_query *q)
{
    uint64_t end = row->span.end_ns > row->span.start_ns ? row->span.end_ns : row->span.start_ns;
    if (q->from_ns && end < (uint64_t)q->from_ns)
        return false;
    if (q->to_ns && row->span.start_ns > (uint64_t)q->to_ns)
        return false;
    for (size_t i = 0; i < q->n_conds; i++) {
        const struct sf_cond *c = &q->conds[i];
        struct sf_value have = {0};
        bool is;
        if (c->scope == SF_SCOPE_INTRINSIC && sf_str_eq(c->key, SF_STR("name")))
            have = (struct sf_value){.type = SF_VALUE_STR, .str = row->span.name};
        else if (c->scope == SF_SCOPE_INTRINSIC)
            have = (struct sf_value){.type = SF_VALUE_INT,
                                     .i64 = (int64_t)sf_span_duration_ns(&row->span)};
        else if (c->scope == SF_SCOPE_RESOURCE)
            have = sf_attrs_get(row->resource->attrs, c->key);
        else
            have = sf_attrs_get(row->span.attrs, c->key);
        is = c->op == SF_OP_EQ   ? sf_value_eq(have, c->vals[0])
             : c->op == SF_OP_GT ? have.i64 > c->vals[0].i64
                                 : have.type != SF_VALUE_NONE;
        if (!is)
            return false;
    }
    return true;
}

static uint32_t find_traces(struct model *m, uint32_t tenant, const struct sf_span_query *q,
                            struct trace *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        const struct model_row *row = &m->rows[i];
        uint32_t k = 0;
        if (row->is_gone || row->tenant != tenant || !matches(row, q))
            continue;
        while (k < n && !sf_trace_id_eq(out[k].id, row->span.trace_id))
            k++;
        if (k < n)
            continue;
        out[n] = (struct trace){row->span.trace_id, UINT64_MAX};
        for (uint32_t j = 0; j < m->n; j++) {
            const struct model_row *other = &m->rows[j];
            if (!other->is_gone && other->tenant == tenant &&
                sf_trace_id_eq(other->span.trace_id, out[n].id) &&
                other->span.start_ns < out[n].start_ns)
                out[n].start_ns = other->span.start_ns;
        }
        n++;
    }
    qsort(out, n, sizeof(*out), newest_first);
    return n;
}

static void make_query(struct model *m, struct sf_cond *conds, struct sf_value *vals,
                       struct sf_span_query *q)
{
    const struct model_row *like = &m->rows[sf_otlp_make_below(&m->make, m->n)];
    *q = (struct sf_span_query){.conds = conds, .is_all = true, .columns = SF_COL_ALL};
    if (sf_otlp_make_below(&m->make, 2)) {
        conds[q->n_conds] = (struct sf_cond){SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("name"),
                                             &vals[q->n_conds],  1,        {0}};
        vals[q->n_conds++] = (struct sf_value){.type = SF_VALUE_STR, .str = like->span.name};
    }
    if (sf_otlp_make_below(&m->make, 2)) {
        conds[q->n_conds] = (struct sf_cond){SF_SCOPE_RESOURCE, SF_OP_EQ, SF_STR("service.name"),
                                             &vals[q->n_conds], 1,        {0}};
        vals[q->n_conds++] = (struct sf_value){.type = SF_VALUE_STR,
                                               .str = like->resource->service};
    }
    if (sf_otlp_make_below(&m->make, 3) == 0) {
        conds[q->n_conds] = (struct sf_cond){SF_SCOPE_INTRINSIC, SF_OP_GT, SF_STR("duration"),
                                             &vals[q->n_conds],  1,        {0}};
        vals[q->n_conds++] = (struct sf_value){
            .type = SF_VALUE_INT, .i64 = (int64_t)sf_span_duration_ns(&like->span) / 2};
    }
    if (like->span.attrs.n && sf_otlp_make_below(&m->make, 2)) {
        const struct sf_attr *a =
            &like->span.attrs.list[sf_otlp_make_below(&m->make, like->span.attrs.n)];
        conds[q->n_conds] = (struct sf_cond){SF_SCOPE_SPAN,     SF_OP_EQ, a->key,
                                             &vals[q->n_conds], 1,        {0}};
        if (a->val.type == SF_VALUE_STR || a->val.type == SF_VALUE_INT) {
            vals[q->n_conds] = a->val;
            q->n_conds++;
        } else {
            conds[q->n_conds].op = SF_OP_EXISTS;
            conds[q->n_conds].n_vals = 0;
            q->n_conds++;
        }
    }
    if (sf_otlp_make_below(&m->make, 3) == 0) {
        q->from_ns = (int64_t)like->span.start_ns - 20000000000;
        q->to_ns = (int64_t)like->span.start_ns +
                   (int64_t)sf_otlp_make_below(&m->make, 600) * 1000000000;
    }
    q->is_newest_first = sf_otlp_make_below(&m->make, 4) > 0;
    q->has_whole_traces = sf_otlp_make_below(&m->make, 2);
    q->limit_traces = (uint32_t)sf_otlp_make_below(&m->make, 3) * 5;
}

static void compare_scan(struct model *m)
{
    struct store_rig *r = &m->rig;
    struct sf_arena before = r->arena;
    struct sf_cond conds[4];
    struct sf_value vals[4];
    struct sf_span_query q;
    struct sf_span_cursor *c;
    struct store_answer a;
    struct trace *traces = sf_arena_new_n(&r->arena, m->n + 1, sizeof(*traces));
    uint32_t tenant = (uint32_t)sf_otlp_make_below(&m->make, N_TENANTS) + 1, n, at = 0;

    make_query(m, conds, vals, &q);
    n = find_traces(m, tenant, &q, traces);
    for (uint32_t i = 0; !q.is_newest_first && i < n / 2; i++) {
        struct trace t = traces[i];
        traces[i] = traces[n - 1 - i];
        traces[n - 1 - i] = t;
    }
    if (q.limit_traces && n > q.limit_traces)
        n = q.limit_traces;
    r->tenant = tenant;
    assert_ok(r->store->ops->span_scan(r->store, &q, &r->q, &c, &r->why));
    a = store_drain(r, c);
    assert_ok(a.err);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t n_want = 0, n_have = 0;
        struct sf_span *want = sf_arena_new_n(&r->arena, m->n + 1, sizeof(*want));
        for (uint32_t k = 0; k < m->n; k++) {
            const struct model_row *row = &m->rows[k];
            if (!row->is_gone && row->tenant == tenant &&
                sf_trace_id_eq(row->span.trace_id, traces[i].id) &&
                (q.has_whole_traces || matches(row, &q)))
                want[n_want++] = row->span;
        }
        qsort(want, n_want, sizeof(*want), by_id);
        while (at + n_have < a.n && sf_trace_id_eq(a.spans[at + n_have].trace_id, traces[i].id))
            n_have++;
        assert_int_equal(n_have, n_want);
        qsort(a.spans + at, n_have, sizeof(*a.spans), by_id);
        for (uint32_t k = 0; k < n_want; k++)
            assert_same_span(&a.spans[at + k], &want[k]);
        at += n_have;
    }
    assert_int_equal(at, a.n);
    r->arena = before;
}

static void compare_operations(struct model *m)
{
    struct store_rig *r = &m->rig;
    struct sf_arena before = r->arena;
    struct sf_operation_rows ops;
    uint32_t tenant = (uint32_t)sf_otlp_make_below(&m->make, N_TENANTS) + 1;
    int64_t from = 0, to = 0;
    uint64_t sum = 0, n_rows = 0;
    if (sf_otlp_make_below(&m->make, 2)) {
        from = (int64_t)m->rows[sf_otlp_make_below(&m->make, m->n)].span.start_ns;
        to = from + (int64_t)sf_otlp_make_below(&m->make, 4000) * 1000000000;
    }
    r->tenant = tenant;
    assert_ok(r->store->ops->operations(r->store, from, to, &r->q, &ops, &r->why));
    for (uint32_t i = 0; i < ops.n; i++) {
        uint64_t n = 0, n_errors = 0, sum_ns = 0, n_buckets = 0, n_entries = 0, entry_ns = 0;
        for (uint32_t k = 0; k < m->n; k++) {
            const struct model_row *row = &m->rows[k];
            int64_t start = (int64_t)row->span.start_ns;
            if (row->tenant != tenant || !sf_str_eq(row->span.name, ops.rows[i].name) ||
                !sf_str_eq(row->resource->service, ops.rows[i].service) ||
                (from && (start < from || start > to)))
                continue;
            n++;
            n_errors += row->span.status == SF_STATUS_ERROR;
            sum_ns += sf_span_duration_ns(&row->span);
            if (row->span.parent_id == 0 || row->span.kind == SF_KIND_SERVER ||
                row->span.kind == SF_KIND_CONSUMER ||
                ((row->span.flags >> 8) & 1 && (row->span.flags >> 9) & 1)) {
                n_entries++;
                entry_ns += sf_span_duration_ns(&row->span);
            }
        }
        for (unsigned k = 0; k < SF_SKETCH_BUCKETS; k++)
            n_buckets += ops.rows[i].all.buckets[k];
        assert_int_equal(ops.rows[i].all.n_spans, n);
        assert_int_equal(ops.rows[i].all.n_errors, n_errors);
        assert_int_equal(ops.rows[i].all.sum_ns, sum_ns);
        assert_int_equal(n_buckets, n);
        assert_int_equal(ops.rows[i].entries.n_spans, n_entries);
        assert_int_equal(ops.rows[i].entries.sum_ns, entry_ns);
        sum += n;
    }
    for (uint32_t k = 0; k < m->n; k++) {
        int64_t start = (int64_t)m->rows[k].span.start_ns;
        n_rows += m->rows[k].tenant == tenant && (!from || (start >= from && start <= to));
    }
    assert_int_equal(sum, n_rows);
    r->arena = before;
}

static bool value_is_less(struct sf_value a, struct sf_value b)
{
    if (a.type != b.type)
        return a.type < b.type;
    if (a.type == SF_VALUE_STR)
        return sf_str_cmp(a.str, b.str) < 0;
    return true;
}

/* Every value the model knows is in the answer, and nothing else. */
static void compare_tags(struct model *m, bool is_names)
{
    struct store_rig *r = &m->rig;
    struct sf_arena before = r->arena;
    const struct model_row *like = &m->rows[sf_otlp_make_below(&m->make, m->n)];
    bool is_resource = sf_otlp_make_below(&m->make, 2);
    struct sf_attrs some = is_resource ? like->resource->attrs : like->span.attrs;
    uint32_t tenant = like->tenant, n = 0, n_model = 0;
    struct sf_value val, last = {0}, *seen = sf_arena_new_n(&r->arena, 100000, sizeof(*seen));
    struct sf_str_cursor *c;
    struct sf_cond cond;
    struct sf_value name = {.type = SF_VALUE_STR, .str = like->span.name};
    struct sf_tag_query q = {.scope = is_resource ? SF_SCOPE_RESOURCE : SF_SCOPE_SPAN};
    if (some.n == 0)
        return;
    if (!is_names)
        q.name = some.list[sf_otlp_make_below(&m->make, some.n)].key;
    if (sf_otlp_make_below(&m->make, 2)) {
        cond = (struct sf_cond){SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("name"), &name, 1, {0}};
        q.conds = &cond;
        q.n_conds = 1;
    }
    for (uint32_t i = 0; i < m->n; i++) {
        const struct model_row *row = &m->rows[i];
        struct sf_attrs attrs = is_resource ? row->resource->attrs : row->span.attrs;
        if (row->tenant != tenant || (q.n_conds && !sf_str_eq(row->span.name, name.str)))
            continue;
        for (uint32_t k = 0; k < attrs.n; k++) {
            struct sf_value one = is_names ? (struct sf_value){.type = SF_VALUE_STR,
                                                               .str = attrs.list[k].key}
                                           : attrs.list[k].val;
            uint32_t at = 0;
            if (!is_names && !sf_str_eq(attrs.list[k].key, q.name))
                continue;
            while (at < n_model && !sf_value_eq(seen[at], one))
                at++;
            if (at == n_model)
                seen[n_model++] = one;
        }
    }
    r->tenant = tenant;
    assert_ok(r->store->ops->span_tags(r->store, &q, &r->q, &c, &r->why));
    while (c->next(c, &val)) {
        uint32_t at = 0;
        while (at < n_model && !sf_value_eq(seen[at], val))
            at++;
        assert_true(at < n_model);
        assert_true(n == 0 || value_is_less(last, val));
        last = val;
        n++;
    }
    assert_ok(c->err);
    c->close(c);
    assert_int_equal(n, n_model);
    r->arena = before;
}

static void compare_all(struct model *m)
{
    for (uint32_t i = 0; i < 30 && m->n; i++) {
        const struct model_row *row = &m->rows[sf_otlp_make_below(&m->make, m->n)];
        compare_trace(m, row->tenant, row->span.trace_id);
        compare_trace(m, row->tenant % N_TENANTS + 1, row->span.trace_id);
    }
    for (int i = 0; i < 8 && m->n; i++) {
        compare_scan(m);
        if (!m->has_repeats) {
            compare_operations(m);
            compare_tags(m, i % 2);
        }
    }
}

static void run(uint64_t seed, bool has_repeats)
{
    struct model m;
    model_init(&m, seed, has_repeats);
    for (int step = 0; step < 120; step++) {
        do_something(&m);
        if (step % 12 == 11)
            compare_all(&m);
    }
    model_done(&m);
}

TEST(store, answers_like_a_plain_list)
{
    for (uint64_t seed = 1; seed <= test_scaled(3); seed++)
        run(seed, false);
}

TEST(store, answers_like_a_plain_list_when_spans_repeat)
{
    for (uint64_t seed = 11; seed < 11 + test_scaled(2); seed++)
        run(seed, true);
}
