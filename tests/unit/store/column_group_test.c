/* Results of groups of granules, which span_columns() returns instead of the rows. */
#include "test.h"

#include "support/store_rig.h"

static const uint64_t START_NS = UINT64_C(1763200000) * 1000000000;
enum { N_SPANS = 20000, STEP_NS = 1000000 }; /* several granules of one block */

/* Spans of one trace each, a millisecond apart, the numbers first to first + n - 1. */
static void put_spans(struct store_rig *r, uint32_t first, uint32_t n)
{
    static const struct sf_resource resource = {.service = SF_STR("shop")};
    static const struct sf_scope scope;
    struct sf_span *spans = sf_arena_new_n(&r->arena, n, sizeof(*spans));
    struct sf_span_batch batch = {&resource, &scope, spans, 1, 1, n};
    for (uint32_t i = 0; i < n; i++) {
        uint64_t id = first + i + 1, at_ns = START_NS + id * STEP_NS;
        spans[i] = (struct sf_span){
            .trace_id = {{1, (uint8_t)(id >> 16), (uint8_t)(id >> 8), (uint8_t)id}},
            .span_id = id,
            .start_ns = at_ns,
            .end_ns = at_ns + 500,
            .name = SF_STR("work")};
    }
    assert_ok(store_put(r, 0, 1, &batch, 0));
}

static void open_store(struct store_rig *r)
{
    store_rig_init(r);
    assert_ok(store_rig_open(r));
    r->tenant = 1;
    put_spans(r, 0, N_SPANS);
    assert_ok(r->store->ops->flush(r->store, &r->why));
}

struct scan {
    const char *question;
    const char *name; /* of the spans; NULL: any */
    int64_t from_ns, to_ns;
    bool is_inside, keeps;
    /* What was returned. */
    uint32_t n_granules, n_rows, n_recalled, n_recalled_rows, n_ends, n_offers;
};

static sf_bytes bytes_of(const char *text)
{
    return (sf_bytes){(const uint8_t *)text, text ? strlen(text) : 0};
}

static void see(struct scan *s, struct sf_span_columns *c)
{
    static const char result[] = "result";
    if (c->recalled.len) {
        assert_int_equal(c->recalled.len, sizeof(result));
        assert_memory_equal(c->recalled.p, result, sizeof(result));
        s->n_recalled++;
        s->n_recalled_rows += c->rows.n_rows;
        assert_int_equal(c->n_traces, c->rows.n_rows); /* one span each */
        return;
    }
    s->n_granules += c->rows.n_rows > 0;
    s->n_rows += c->rows.n_rows;
    s->n_ends += c->group.is_end;
    s->n_offers += c->group.keep != NULL;
    if (c->group.keep)
        assert_true(c->group.is_end && c->group.min_ns <= (int64_t)START_NS + STEP_NS &&
                    c->group.max_ns >= (int64_t)(START_NS + (uint64_t)N_SPANS * STEP_NS));
    if (c->group.keep && s->keeps)
        c->group.keep(c, bytes_of(s->question),
                      (sf_bytes){(const uint8_t *)result, sizeof(result)});
}

static struct scan scan(struct store_rig *r, struct scan s)
{
    struct sf_value name = {.type = SF_VALUE_STR};
    struct sf_cond named = {.scope = SF_SCOPE_INTRINSIC,
                            .op = SF_OP_EQ,
                            .key = SF_STR("name"),
                            .vals = &name,
                            .n_vals = 1};
    struct sf_span_query query = {.from_ns = s.from_ns,
                                  .to_ns = s.to_ns,
                                  .columns = SF_COL_IDS,
                                  .question = bytes_of(s.question),
                                  .is_group_inside = s.is_inside};
    struct sf_column_cursor *cursor;
    struct sf_span_columns *c;
    if (s.name) {
        name.str = sf_str_from(s.name);
        query.conds = &named;
        query.n_conds = 1;
        query.is_all = true;
    }
    assert_ok(r->store->ops->span_columns(r->store, &query, &r->q, &cursor, &r->why));
    while ((c = cursor->next(cursor)))
        see(&s, c);
    assert_ok(cursor->err);
    cursor->close(cursor);
    return s;
}

TEST(column_group, stored_result_replaces_the_rows)
{
    struct store_rig r;
    struct scan s;
    open_store(&r);
    s = scan(&r, (struct scan){.question = "a", .keeps = true});
    assert_true(s.n_granules > 1);
    assert_int_equal(s.n_rows, N_SPANS);
    assert_int_equal(s.n_ends, 1);
    assert_int_equal(s.n_offers, 1);
    s = scan(&r, (struct scan){.question = "a"});
    assert_int_equal(s.n_recalled, 1);
    assert_int_equal(s.n_recalled_rows, N_SPANS);
    assert_int_equal(s.n_rows, 0);
    s = scan(&r, (struct scan){.question = "b"});
    assert_int_equal(s.n_recalled, 0);
    assert_int_equal(s.n_rows, N_SPANS);
    s = scan(&r, (struct scan){0}); /* without a question there are no groups */
    assert_int_equal(s.n_rows, N_SPANS);
    assert_int_equal(s.n_ends + s.n_recalled, 0);
    store_rig_done(&r);
}

TEST(column_group, part_of_the_time_uses_a_result_and_does_not_make_one)
{
    struct store_rig r;
    struct scan s, part = {.question = "a",
                           .from_ns = (int64_t)START_NS,
                           .to_ns = (int64_t)START_NS + 5000 * (int64_t)STEP_NS,
                           .keeps = true};
    open_store(&r);
    s = scan(&r, part);
    assert_int_equal(s.n_granules, 1);
    assert_int_equal(s.n_offers, 0);
    (void)scan(&r, (struct scan){.question = "a", .keeps = true});
    s = scan(&r, part);
    assert_int_equal(s.n_recalled, 1);
    assert_int_equal(s.n_rows, 0);
    part.is_inside = true; /* a result of the whole group cannot be divided */
    s = scan(&r, part);
    assert_int_equal(s.n_recalled, 0);
    assert_int_equal(s.n_granules, 1);
    store_rig_done(&r);
}

TEST(column_group, without_a_matching_granule_has_a_result_too)
{
    struct store_rig r;
    struct scan s;
    open_store(&r);
    s = scan(&r, (struct scan){.question = "a", .name = "other", .keeps = true});
    assert_int_equal(s.n_rows, 0);
    assert_int_equal(s.n_offers, 1);
    s = scan(&r, (struct scan){.question = "a", .name = "other"});
    assert_int_equal(s.n_recalled, 1);
    store_rig_done(&r);
}

TEST(column_group, result_is_not_used_once_a_span_is_stored_twice)
{
    struct store_rig r;
    struct scan s;
    open_store(&r);
    (void)scan(&r, (struct scan){.question = "a", .keeps = true});
    put_spans(&r, 10000, 1); /* a copy, in memory */
    s = scan(&r, (struct scan){.question = "a", .keeps = true});
    assert_int_equal(s.n_recalled, 0);
    assert_int_equal(s.n_offers, 0);
    store_rig_done(&r);
}

TEST(column_group, result_is_not_used_after_an_erasure)
{
    struct store_rig r;
    sf_trace_id id = {{1, 0, 1, 1}};
    struct sf_selector which = {.what = SF_SELECT_TRACES, .n_traces = 1, .trace_ids = &id};
    struct scan s;
    open_store(&r);
    (void)scan(&r, (struct scan){.question = "a", .keeps = true});
    assert_ok(r.store->ops->erase(r.store, 1, &which, &r.why));
    for (int i = 0; i < 2; i++) {
        s = scan(&r, (struct scan){.question = "a", .keeps = true});
        assert_int_equal(s.n_recalled, 0);
        assert_int_equal(s.n_offers, 0);
        assert_true(s.n_granules > 1);
    }
    store_rig_done(&r);
}
