#include "test.h"

#include "store/local/write/batch_rows.h"
#include "support/batch_make.h"

static const int64_t RECV_NS = INT64_C(1763200000000000000);

static void assert_same(const struct sf_rowset *r, size_t row, const struct sf_span_batch *b,
                        uint32_t i, struct sf_arena req)
{
    struct sf_span have;
    struct sf_resource res;
    struct sf_scope scope;
    struct sf_span_batch one, two;
    struct sf_span want = b->spans[i];
    char what[160] = "";
    assert_true(sf_rowset_get(r, row, &req, &have));
    assert_true(sf_rowset_get_resource(r, have.resource, &req, &res));
    assert_true(sf_rowset_get_scope(r, have.scope, &req, &scope));
    have.resource = have.scope = 0;
    one = (struct sf_span_batch){&res, &scope, &have, 1, 1, 1};
    two = (struct sf_span_batch){
        &b->resources[want.resource], &b->scopes[want.scope], &want, 1, 1, 1};
    want.resource = want.scope = 0;
    if (!sf_otlp_make_is_same(&one, &two, what))
        fail_msg("row %zu: %s", row, what);
}

TEST(batch_rows, gives_back_what_was_copied_in)
{
    struct sf_rowset r;
    struct sf_otlp_make m;
    struct sf_arena arena;
    assert_true(sf_rowset_init(&r, 100000, 64 << 20));
    assert_true(sf_arena_init(&arena, 256 << 20));
    sf_otlp_make_init(&m, 1, 0);
    for (int round = 0; round < 20; round++) {
        struct sf_span_batch b;
        size_t first = r.n_rows;
        arena.at = 0;
        sf_batch_make(&m, 30, &arena, &b);
        assert_ok(sf_batch_rows_add(&r, 1, RECV_NS, 0, &b, NULL));
        assert_int_equal(r.n_rows, first + b.n_spans);
        for (uint32_t i = 0; i < b.n_spans; i++)
            assert_same(&r, first + i, &b, i, arena);
    }
    sf_rowset_done(&r);
    sf_arena_done(&arena);
}

TEST(batch_rows, is_as_before_when_a_batch_does_not_fit)
{
    struct sf_rowset r;
    struct sf_otlp_make m;
    struct sf_arena arena;
    struct sf_span_batch first, more;
    size_t n, len;
    assert_true(sf_rowset_init(&r, 1000, 200 << 10));
    assert_true(sf_arena_init(&arena, 256 << 20));
    sf_otlp_make_init(&m, 2, 0);
    sf_otlp_make_batch(&m, 50, &arena, &first);
    sf_otlp_make_batch(&m, 2000, &arena, &more);
    assert_ok(sf_batch_rows_add(&r, 1, RECV_NS, 0, &first, NULL));
    n = r.n_rows;
    len = r.n_words;
    assert_err(sf_batch_rows_add(&r, 1, RECV_NS, 0, &more, NULL), SF_ERR_LIMIT);
    assert_int_equal(r.n_rows, n);
    assert_int_equal(r.n_words, len);
    for (uint32_t i = 0; i < 50; i++)
        assert_same(&r, i, &first, i, arena);
    more.n_spans = 20;
    assert_ok(sf_batch_rows_add(&r, 1, RECV_NS, 0, &more, NULL));
    assert_same(&r, n + 5, &more, 5, arena);
    sf_rowset_done(&r);
    sf_arena_done(&arena);
}

TEST(batch_rows, believes_starts_near_the_time_of_receipt_only)
{
    int64_t hour = INT64_C(3600000000000), week = 168 * hour;
    assert_true(sf_batch_rows_index((uint64_t)(RECV_NS - hour), RECV_NS, week) == RECV_NS - hour);
    assert_true(sf_batch_rows_index((uint64_t)(RECV_NS + hour), RECV_NS, week) == RECV_NS + hour);
    assert_true(sf_batch_rows_index((uint64_t)(RECV_NS + hour + 1), RECV_NS, week) == RECV_NS);
    assert_true(sf_batch_rows_index((uint64_t)(RECV_NS - week - 1), RECV_NS, week) == RECV_NS);
    assert_true(sf_batch_rows_index(0, RECV_NS, 0) == RECV_NS);
    assert_true(sf_batch_rows_index(UINT64_MAX, RECV_NS, 0) == RECV_NS);
    assert_true(sf_batch_rows_end(UINT64_MAX, RECV_NS, RECV_NS) == RECV_NS + hour);
    assert_true(sf_batch_rows_end(5, RECV_NS, RECV_NS) == RECV_NS);
}
