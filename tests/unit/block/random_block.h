/* random_block.h - a block of random spans, written and opened, with what was put into it. */
#pragma once
#include "test.h"

#include "block/span/reader.h"
#include "random_spans.h"

static inline struct sf_arena make_arena(void)
{
    struct sf_arena a; /* not larger than needed: the sanitizer marks all of it on every reset */
    assert_true(sf_arena_init(&a, (size_t)96 << 20));
    return a;
}

static inline void compare_all(const struct sf_span_block_reader *r, const struct random_block *b,
                               uint32_t columns)
{
    struct sf_arena a = make_arena();
    struct sf_why why;
    uint32_t at = 0;

    for (uint32_t g = 0; g < sf_span_block_reader_granules(r); g++) {
        struct sf_span_rows rows;
        const int64_t *index;
        sf_arena_reset(&a);
        if (sf_granule_view_read(r, g, columns, NULL, 0, &a, &rows, &why))
            fail_msg("%s", why.text);
        assert_ok(sf_granule_view_index_times(r, g, &a, &index, &why));
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

static inline struct sf_span_block_reader *write_random(uint64_t seed, bool is_compressed,
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
    if (sf_span_block_reader_open_memory(&memory, SF_TABLES_ALL, &r, &why))
        fail_msg("%s", why.text);
    assert_int_equal(sf_span_block_reader_info(r)->n_rows, b->n);
    return r;
}

static inline void no_finding(void *arg, const char *sentence)
{
    (void)arg;
    fail_msg("verify says: %s", sentence);
}
