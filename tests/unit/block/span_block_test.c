#include "test.h"

#include "base/heap.h"
#include "block/reader.h"
#include "random_spans.h"

static struct sf_arena make_arena(void)
{
    struct sf_arena a;
    assert_true(sf_arena_init(&a, (size_t)1 << 30));
    return a;
}

static void compare_all(const struct sf_span_block_reader *r, const struct random_block *b,
                        uint32_t columns)
{
    struct sf_arena a = make_arena();
    struct sf_why why;
    uint32_t at = 0;

    for (uint32_t g = 0; g < sf_span_block_granules(r); g++) {
        struct sf_span_rows rows;
        const int64_t *index;
        sf_arena_reset(&a);
        if (sf_span_block_read(r, g, columns, NULL, 0, &a, &rows, &why))
            fail_msg("%s", why.text);
        assert_ok(sf_span_block_index_times(r, g, &a, &index, &why));
        for (uint32_t i = 0; i < rows.n_rows; i++, at++) {
            struct sf_span s = sf_span_rows_get(&rows, i);
            const char *what = span_difference(&s, &b->spans[at], columns);
            if (what)
                fail_msg("row %u differs in %s", at, what);
            assert_int_equal(index[i], b->index_ns[at]);
            assert_int_equal(rows.tenant, b->tenants[at]);
        }
    }
    assert_int_equal(at, b->n);
    sf_arena_done(&a);
}

static struct sf_span_block_reader *write_random(uint64_t seed, bool is_compressed,
                                                 uint32_t n_traces, uint32_t max_trace,
                                                 struct sf_arena *a, struct random_block *b)
{
    struct dice d = {seed};
    struct sf_span_block_options o = {.info = {.block_id = 7, .level = 0},
                                      .is_compressed = is_compressed};
    struct sf_span_block_writer *w;
    struct sf_span_block_reader *r;
    struct sf_buf memory = {0};
    struct sf_why why;
    uint64_t len;

    assert_ok(sf_span_block_writer_new(&o, &w, &why));
    if (add_random(w, &d, a, n_traces, max_trace, b, &why))
        fail_msg("%s", why.text);
    assert_ok(sf_span_block_writer_finish(w, &len, NULL, &memory, &why));
    assert_int_equal(len, memory.len);
    sf_span_block_writer_free(w);
    if (sf_span_block_open_memory(&memory, &r, &why))
        fail_msg("%s", why.text);
    assert_int_equal(sf_span_block_info(r)->n_rows, b->n);
    return r;
}

TEST(span_block, gives_back_every_field_of_random_spans)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct sf_arena a = make_arena();
        struct random_block b;
        struct sf_span_block_reader *r = write_random(seed, seed & 1, 1 + (uint32_t)seed * 20, 9,
                                                      &a, &b);
        compare_all(r, &b, SF_COL_ALL);
        for (uint32_t bit = 1; bit < SF_COL_ALL; bit <<= 1)
            compare_all(r, &b, bit);
        compare_all(r, &b, 0);
        sf_span_block_close(r);
        sf_arena_done(&a);
    }
}

TEST(span_block, cuts_granules_between_traces)
{
    struct sf_arena a = make_arena();
    struct random_block b;
    struct sf_span_block_reader *r = write_random(99, true, 4000, 20, &a, &b);
    assert_true(sf_span_block_granules(r) > 2);
    for (uint32_t g = 0; g < sf_span_block_granules(r); g++)
        assert_false(sf_span_block_granule(r, g)->is_continuation);
    compare_all(r, &b, SF_COL_ALL);
    sf_span_block_close(r);
    sf_arena_done(&a);
}
