#include "block/span/granule_copy.h"

#include "random_block.h"

/* Copies some rows of every granule and compares them with what the block was made of. */
static void copy_and_compare(const struct sf_span_block_reader *r, const struct random_block *b,
                             unsigned skip_every)
{
    struct sf_arena a = make_arena(), req = make_arena();
    struct sf_rowset rows;
    uint32_t first = 0;
    struct sf_why why;

    assert_true(sf_rowset_init(&rows, b->n + 1, 64 << 20));
    for (uint32_t g = 0; g < sf_span_block_reader_granules(r); g++) {
        struct sf_granule_copy *c;
        const struct sf_span_rows *source;
        sf_arena_reset(&a);
        assert_ok(sf_granule_copy_open(r, g, &rows, &a, &c, &why));
        source = sf_granule_copy_rows(c);
        for (uint32_t i = 0; i < source->n_rows; i++) {
            struct sf_span have;
            const char *what;
            if (skip_every && i % skip_every == 0)
                continue;
            assert_ok(
                sf_granule_copy_row(c, i, source->resource[i], source->scope[i], 5 + i, &why));
            sf_arena_reset(&req);
            assert_true(sf_rowset_get(&rows, rows.n_rows - 1, &req, &have));
            what = span_difference(&have, &b->spans[first + i], SF_COL_ALL);
            if (what)
                fail_msg("row %u differs in %s", first + i, what);
            assert_int_equal(rows.rows[rows.n_rows - 1].tenant, b->tenants[first + i]);
            assert_int_equal(rows.rows[rows.n_rows - 1].index_ns, b->index_ns[first + i]);
            assert_int_equal(rows.rows[rows.n_rows - 1].n_attrs, have.attrs.n);
        }
        first += source->n_rows;
    }
    assert_int_equal(first, b->n);
    sf_rowset_done(&rows);
    sf_arena_done(&a);
    sf_arena_done(&req);
}

TEST(granule_copy, copies_every_field_of_random_spans)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct sf_arena a = make_arena();
        struct random_block b;
        struct sf_span_block_reader *r = write_random(seed, seed & 1, 20 + (uint32_t)seed * 20, 9,
                                                      &a, &b);
        copy_and_compare(r, &b, 0);
        copy_and_compare(r, &b, 2 + (unsigned)seed % 3);
        sf_span_block_reader_close(r);
        sf_arena_done(&a);
    }
}

TEST(granule_copy, leaves_the_rowset_as_before_when_a_row_does_not_fit)
{
    struct sf_arena a = make_arena(), req = make_arena();
    struct random_block b;
    struct sf_span_block_reader *r = write_random(3, false, 60, 9, &a, &b);
    struct sf_granule_copy *c;
    struct sf_rowset rows;
    struct sf_why why;
    uint32_t n = 0;

    assert_true(sf_rowset_init(&rows, 100000, 24 << 10));
    assert_ok(sf_granule_copy_open(r, 0, &rows, &req, &c, &why));
    while (!sf_granule_copy_row(c, n, 0, 0, 0, &why)) {
        n++;
        assert_true(n < sf_granule_copy_rows(c)->n_rows); /* it must be full before */
    }
    assert_int_equal(rows.n_rows, n);
    for (uint32_t i = 0; i < n; i++) {
        struct sf_span have;
        assert_true(sf_rowset_get(&rows, i, &req, &have));
        assert_null(span_difference(&have, &b.spans[i], SF_COL_ATTRS | SF_COL_NAME | SF_COL_REST));
    }
    sf_rowset_done(&rows);
    sf_span_block_reader_close(r);
    sf_arena_done(&a);
    sf_arena_done(&req);
}
