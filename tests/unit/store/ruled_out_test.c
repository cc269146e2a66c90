#include "test.h"

#include "support/store_rig.h"

static const uint64_t START_NS = UINT64_C(1763200000) * 1000000000;

/* Spans of one trace each, ids first to first + n - 1, a second apart. */
static void put_spans(struct store_rig *r, uint32_t tenant, uint64_t first, uint32_t n)
{
    static const struct sf_resource resource = {.service = SF_STR("shop")};
    static const struct sf_scope scope;
    struct sf_span *spans = sf_arena_new_n(&r->arena, n, sizeof(*spans));
    struct sf_span_batch batch = {&resource, &scope, spans, 1, 1, n};
    for (uint32_t i = 0; i < n; i++) {
        uint64_t id = first + i, at_ns = START_NS + id * 1000000000;
        spans[i] = (struct sf_span){.trace_id = {{1, (uint8_t)(id >> 8), (uint8_t)id}},
                                    .span_id = id,
                                    .start_ns = at_ns,
                                    .end_ns = at_ns + 500,
                                    .name = SF_STR("work")};
    }
    assert_ok(store_put(r, 0, tenant, &batch, 0));
    assert_ok(r->store->ops->flush(r->store, &r->why));
}

struct search { /* for the span with this id */
    uint64_t wanted;
    const char *question;
    int64_t from_ns, to_ns;
    uint32_t n_judged; /* granules */
};

static enum sf_err judge(void *arg, struct sf_span_columns *c, uint8_t *hits, struct sf_why *why)
{
    struct search *s = arg;
    enum sf_err err = c->add(c, SF_COL_IDS | SF_COL_TRACES, why);
    s->n_judged++;
    for (uint32_t t = 0; !err && t < c->n_traces; t++) {
        hits[t] = 0;
        for (uint32_t i = c->firsts[t]; i < c->firsts[t + 1]; i++)
            hits[t] |= c->rows.span_id[i] == s->wanted && (!c->rows.is_in || c->rows.is_in[i]);
    }
    return err;
}

static uint32_t count_found(struct store_rig *r, struct search *s)
{
    struct sf_span_judge judged = {
        .judge = judge,
        .arg = s,
        .question = {(const uint8_t *)s->question, s->question ? strlen(s->question) : 0}};
    struct sf_span_query query = {.from_ns = s->from_ns,
                                  .to_ns = s->to_ns,
                                  .is_newest_first = true,
                                  .has_whole_traces = true,
                                  .columns = SF_COL_IDS,
                                  .judge = &judged};
    struct sf_span_cursor *cursor;
    struct store_answer a;
    s->n_judged = 0;
    assert_ok(r->store->ops->span_scan(r->store, &query, &r->q, &cursor, &r->why));
    a = store_drain(r, cursor);
    assert_ok(a.err);
    return a.n;
}

TEST(ruled_out, repeated_search_reads_only_blocks_that_are_new)
{
    struct store_rig r;
    struct search s = {.wanted = 150, .question = "150"};
    store_rig_init(&r);
    assert_ok(store_rig_open(&r));
    put_spans(&r, 1, 1, 100);
    assert_int_equal(count_found(&r, &s), 0);
    assert_int_equal(s.n_judged, 1);
    assert_int_equal(count_found(&r, &s), 0);
    assert_int_equal(s.n_judged, 0);
    put_spans(&r, 1, 101, 100);
    assert_int_equal(count_found(&r, &s), 1);
    assert_int_equal(s.n_judged, 1);
    assert_int_equal(count_found(&r, &s), 1); /* a granule with a match is not ruled out */
    assert_int_equal(s.n_judged, 1);
    store_rig_done(&r);
}

TEST(ruled_out, search_without_question_and_another_question_read_all)
{
    struct store_rig r;
    struct search plain = {.wanted = 500}, one = {.wanted = 500, .question = "500"};
    struct search other = {.wanted = 50, .question = "50"};
    store_rig_init(&r);
    assert_ok(store_rig_open(&r));
    put_spans(&r, 1, 1, 100);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(count_found(&r, &plain), 0);
        assert_int_equal(plain.n_judged, 1);
    }
    assert_int_equal(count_found(&r, &one), 0);
    assert_int_equal(count_found(&r, &other), 1);
    assert_int_equal(other.n_judged, 1);
    store_rig_done(&r);
}

TEST(ruled_out, tenants_are_told_apart)
{
    static const uint32_t both[2] = {1, 2};
    struct store_rig r;
    struct search s = {.wanted = 250, .question = "250"};
    store_rig_init(&r);
    assert_ok(store_rig_open(&r));
    put_spans(&r, 1, 1, 100);
    put_spans(&r, 2, 201, 100);
    assert_int_equal(count_found(&r, &s), 0);
    r.tenant = 2;
    assert_int_equal(count_found(&r, &s), 1);
    r.q.tenants = both; /* nothing is remembered of two */
    r.q.n_tenants = 2;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(count_found(&r, &s), 1);
        assert_int_equal(s.n_judged, 2);
    }
    store_rig_done(&r);
}

TEST(ruled_out, search_of_a_range_rules_nothing_else_out)
{
    struct store_rig r;
    struct search s = {.wanted = 8000,
                       .question = "8000",
                       .from_ns = (int64_t)START_NS,
                       .to_ns = (int64_t)START_NS + INT64_C(100) * 1000000000};
    store_rig_init(&r);
    assert_ok(store_rig_open(&r));
    put_spans(&r, 1, 1, 9000); /* several granules in one block */
    assert_int_equal(count_found(&r, &s), 0);
    s.from_ns = s.to_ns = 0;
    assert_int_equal(count_found(&r, &s), 1);
    store_rig_done(&r);
}

TEST(ruled_out, block_that_a_tombstone_touches_is_read)
{
    struct store_rig r;
    struct sf_selector which = {.what = SF_SELECT_SERVICE,
                                .from_ns = (int64_t)START_NS,
                                .to_ns = (int64_t)START_NS + INT64_C(20) * 1000000000,
                                .service = SF_STR("shop")};
    struct search s = {.wanted = 10, .question = "10"};
    store_rig_init(&r);
    assert_ok(store_rig_open(&r));
    put_spans(&r, 1, 1, 100);
    assert_int_equal(count_found(&r, &s), 1);
    assert_ok(r.store->ops->erase(r.store, 1, &which, &r.why));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(count_found(&r, &s), 0);
        assert_int_equal(s.n_judged, 1);
    }
    store_rig_done(&r);
}
