#include "exec/span_pool.h"

#include "test.h"

static struct sf_arena arena;

static const struct sf_attr res_a[] = {
    {{"service.name", 12}, {.type = SF_VALUE_STR, .str = {"a", 1}}}};
static const struct sf_attr res_b[] = {
    {{"service.name", 12}, {.type = SF_VALUE_STR, .str = {"b", 1}}}};
static const struct sf_resource resources[] = {{.attrs = {res_a, 1}, .service = {"a", 1}},
                                               {.attrs = {res_b, 1}, .service = {"b", 1}}};
static const struct sf_attr attrs[] = {
    {{"thread.id", 9}, {.type = SF_VALUE_INT, .i64 = 7}},
    {{"db.statement", 12}, {.type = SF_VALUE_STR, .str = {"SELECT 1", 8}}},
    {{"pyroscope.profile.id", 20}, {.type = SF_VALUE_STR, .str = {"0000000000000001", 16}}}};
static const struct sf_event events[] = {{.name = {"began", 5}, .attrs = {attrs, 1}}};

/* One batch of two rows, in resources `first` and `second` of the list. */
static struct sf_span_rows rows_of(struct sf_span *spans, uint32_t *resource, uint32_t *zero)
{
    static const sf_trace_id ids[2];
    static const sf_span_id span_ids[2] = {1, 2};
    static const struct sf_scope scope;
    for (uint32_t i = 0; i < 2; i++)
        spans[i] = (struct sf_span){.span_id = i + 1,
                                    .resource = resource[i],
                                    .name = {"work", 4},
                                    .status_msg = {"ok", 2},
                                    .attrs = {attrs, 3},
                                    .events = events,
                                    .n_events = 1};
    return (struct sf_span_rows){.n_rows = 2,
                                 .trace_id = ids,
                                 .span_id = span_ids,
                                 .resource = resource,
                                 .resources = resources,
                                 .n_resources = 2,
                                 .scope = zero,
                                 .scopes = &scope,
                                 .n_scopes = 1,
                                 .spans = spans};
}

TEST(span_pool, keeps_resources_and_texts_once)
{
    struct sf_span_pool p;
    struct sf_span in[2], out[4];
    uint32_t ab[2] = {0, 1}, ba[2] = {1, 0}, zero[2] = {0};
    struct sf_span_rows rows = rows_of(in, ab, zero);
    assert_true(sf_arena_init(&arena, 1 << 20));
    sf_span_pool_init(&p, &arena, false);
    assert_true(sf_span_pool_add(&p, &rows, 0, &out[0]));
    assert_true(sf_span_pool_add(&p, &rows, 1, &out[1]));
    rows = rows_of(in, ba, zero); /* another batch names them in another order */
    sf_span_pool_next_rows(&p);
    assert_true(sf_span_pool_add(&p, &rows, 0, &out[2]));
    assert_true(sf_span_pool_add(&p, &rows, 1, &out[3]));
    assert_int_equal(p.n_resources, 2);
    assert_int_equal(p.n_scopes, 1);
    assert_int_equal(out[0].resource, out[3].resource);
    assert_int_equal(out[1].resource, out[2].resource);
    assert_str(p.resources[out[1].resource].service, "b");
    assert_ptr_equal(out[0].attrs.list[1].val.str.p, out[3].attrs.list[1].val.str.p);
    assert_ptr_not_equal(out[0].attrs.list[1].val.str.p, attrs[1].val.str.p); /* and not borrowed */
    assert_str(out[3].events[0].name, "began");
    assert_str(out[3].status_msg, "ok");
    sf_arena_done(&arena);
}

TEST(span_pool, bare_keeps_what_says_where_a_span_ran)
{
    struct sf_span_pool p;
    struct sf_span in[2], out;
    uint32_t ab[2] = {0, 1}, zero[2] = {0};
    struct sf_span_rows rows = rows_of(in, ab, zero);
    assert_true(sf_arena_init(&arena, 1 << 20));
    sf_span_pool_init(&p, &arena, true);
    assert_true(sf_span_pool_add(&p, &rows, 0, &out));
    assert_int_equal(out.attrs.n, 2);
    assert_str(out.attrs.list[0].key, "thread.id");
    assert_str(out.attrs.list[1].key, "pyroscope.profile.id");
    assert_int_equal(out.n_events, 0);
    assert_str(out.name, "work");
    assert_int_equal(out.status_msg.len, 0);
    sf_arena_done(&arena);
}

TEST(span_pool, says_when_the_arena_is_full)
{
    struct sf_span_pool p;
    struct sf_span in[2], out;
    uint32_t ab[2] = {0, 1}, zero[2] = {0};
    struct sf_span_rows rows = rows_of(in, ab, zero);
    assert_true(sf_arena_init(&arena, 4096));
    sf_span_pool_init(&p, &arena, false);
    assert_false(sf_span_pool_add(&p, &rows, 0, &out)); /* the texts alone need more */
    sf_arena_done(&arena);
}
