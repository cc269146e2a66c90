#include "block/span/value_summary.h"

#include "random_block.h"

struct asking {
    const struct sf_span_block_reader *r;
    const struct sf_value_summary *summary;
    struct sf_arena scratch;
};

static bool summary_may(struct asking *a, uint32_t tenant, const struct sf_cond *c)
{
    struct sf_why why;
    bool may;
    assert_ok(sf_value_summary_may_hold(a->summary, a->r, tenant, c, 1, a->scratch, &may, &why));
    return may;
}

/* The same from the tables, granule by granule. */
static bool slow_may(struct asking *a, uint32_t tenant, const struct sf_cond *c)
{
    struct sf_why why;
    bool may = false;
    for (uint32_t g = 0; g < sf_span_block_reader_granules(a->r) && !may; g++)
        assert_ok(sf_granule_match_may_hold(a->r, g, tenant, c, 1, NULL, a->scratch, &may, &why));
    return may;
}

static struct sf_value_summary *summary_of(struct asking *a)
{
    struct sf_value_summary *s;
    struct sf_why why;
    assert_ok(sf_value_summary_new(a->r, a->scratch, &s, &why));
    assert_non_null(s);
    assert_int_equal(sf_value_summary_granules(s), sf_span_block_reader_granules(a->r));
    assert_true(sf_value_summary_memory(s) > 0);
    return s;
}

/* Values that spans have, and the same under other tenants, keys and operators. */
TEST(value_summary, denies_nothing_that_the_tables_allow)
{
    for (uint64_t seed = 1; seed < 9; seed++) {
        struct sf_arena memory = make_arena();
        struct random_block b;
        struct asking a = {.scratch = make_arena()};
        uint32_t n_denied = 0;
        struct sf_span_block_reader *r = write_random(seed, seed % 2, 300, 12, &memory, &b);
        a.r = r;
        a.summary = summary_of(&a);
        for (uint32_t i = 0; i < b.n; i++) {
            const struct sf_span *s = &b.spans[i], *other = &b.spans[(i * 7) % b.n];
            for (uint32_t k = 0; k < s->attrs.n; k++) {
                const struct sf_attr *x = &s->attrs.list[k];
                struct sf_cond c = {SF_SCOPE_SPAN, SF_OP_EQ, x->key, &x->val, 1, {0}};
                assert_true(summary_may(&a, b.tenants[i], &c));
                if (i % 8)
                    continue;
                if (other->attrs.n)
                    c.key = other->attrs.list[0].key;
                c.op = i % 3 ? SF_OP_EQ : SF_OP_NE;
                c.scope = i % 5 ? SF_SCOPE_SPAN : SF_SCOPE_ANY;
                for (uint32_t tenant = 1; tenant < 4; tenant++) {
                    bool may = summary_may(&a, tenant, &c);
                    assert_true(may || !slow_may(&a, tenant, &c));
                    n_denied += !may;
                }
            }
        }
        assert_true(n_denied > 0);
        sf_value_summary_free((struct sf_value_summary *)a.summary);
        sf_span_block_reader_close(r);
        sf_arena_done(&memory);
        sf_arena_done(&a.scratch);
    }
}

static struct sf_span_block_reader *write_attrs(struct sf_arena *a, uint32_t n, bool has_list)
{
    struct sf_span_block_options o = {.is_compressed = true, .info = {.tenant = 1, .level = 1}};
    struct sf_resource res = {.service = SF_STR("shop")};
    struct sf_scope scope = {0};
    struct sf_span_block_writer *w;
    struct sf_span_block_reader *r;
    struct sf_buf memory = {0};
    struct sf_why why;
    uint32_t code;
    uint64_t len;
    assert_ok(sf_span_block_writer_new(&o, &w, &why));
    assert_ok(sf_span_block_writer_resource(w, 1, &res, &code, &why));
    assert_ok(sf_span_block_writer_scope(w, 1, &scope, &code, &why));
    for (uint32_t i = 0; i < n; i++) {
        struct sf_attr attrs[3] = {
            {SF_STR("id"), {.type = SF_VALUE_STR}},
            {SF_STR("route"), {.type = SF_VALUE_STR, .str = i % 2 ? SF_STR("/a") : SF_STR("/b")}},
            {SF_STR("list"), {.type = SF_VALUE_ARRAY, .str = SF_STR("")}}};
        struct sf_span s = {.span_id = i + 1,
                            .start_ns = i,
                            .end_ns = i + 1,
                            .name = SF_STR("work"),
                            .attrs = {attrs, has_list ? 3 : 2}};
        int64_t index = i;
        struct sf_arena tmp = *a;
        assert_true(sf_arena_print(&tmp, &attrs[0].val.str, "id-%u", i));
        sf_store_u32le(s.trace_id.b, i);
        assert_ok(sf_span_block_writer_trace(w, 1, &s, &index, 1, &why));
    }
    assert_ok(sf_span_block_writer_finish(w, &len, NULL, &memory, &why));
    sf_span_block_writer_free(w);
    assert_ok(sf_span_block_reader_open_memory(&memory, SF_TABLES_ALL, &r, &why));
    return r;
}

TEST(value_summary, denies_values_that_are_not_there)
{
    struct sf_arena memory = make_arena();
    struct asking a = {.scratch = make_arena()};
    struct sf_span_block_reader *r = write_attrs(&memory, 20000, true);
    uint32_t n_wrong = 0;
    a.r = r;
    a.summary = summary_of(&a);
    for (uint32_t i = 0; i < 1000; i++) {
        struct sf_value v = {.type = SF_VALUE_STR};
        struct sf_cond c = {SF_SCOPE_SPAN, SF_OP_EQ, SF_STR("id"), &v, 1, {0}};
        struct sf_arena tmp = memory;
        assert_true(sf_arena_print(&tmp, &v.str, "id-%u", i * 20));
        assert_true(summary_may(&a, 1, &c)); /* too many to be listed: AFLT has it */
        assert_true(sf_arena_print(&tmp, &v.str, "id-%ux", i));
        n_wrong += summary_may(&a, 1, &c);
        c.key = SF_STR("route");
        n_wrong += summary_may(&a, 1, &c);
        c.key = SF_STR("absent");
        n_wrong += summary_may(&a, 1, &c);
        c.key = SF_STR("list");
        assert_true(summary_may(&a, 1, &c)); /* may be in the list */
    }
    assert_true(n_wrong < 60); /* one in 130 expected */
    sf_value_summary_free((struct sf_value_summary *)a.summary);
    sf_span_block_reader_close(r);
    sf_arena_done(&memory);
    sf_arena_done(&a.scratch);
}
