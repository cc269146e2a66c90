#include <unistd.h>

#include "base/limits.h"
#include "random_block.h"

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
        sf_span_block_reader_close(r);
        sf_arena_done(&a);
    }
}

TEST(span_block, cuts_granules_between_traces)
{
    struct sf_arena a = make_arena();
    struct random_block b;
    struct sf_span_block_reader *r = write_random(99, true, 2500, 28, &a, &b);
    assert_true(sf_span_block_reader_granules(r) > 2);
    for (uint32_t g = 0; g < sf_span_block_reader_granules(r); g++)
        assert_false(sf_span_block_reader_granule(r, g)->is_continuation);
    compare_all(r, &b, SF_COL_ALL);
    sf_span_block_reader_close(r);
    sf_arena_done(&a);
}

TEST(span_block, verifies_what_it_wrote)
{
    for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
        struct sf_arena a = make_arena(), scratch = make_arena();
        struct random_block b;
        struct sf_why why;
        uint64_t n_faults = 1;
        struct sf_span_block_reader *r = write_random(5, is_compressed, 2500, 20, &a, &b);
        assert_ok(sf_span_block_verify(r, scratch, no_finding, NULL, &n_faults, &why));
        assert_int_equal(n_faults, 0);
        sf_span_block_reader_close(r);
        sf_arena_done(&a);
        sf_arena_done(&scratch);
    }
}

TEST(span_block, is_the_same_in_a_file)
{
    char path[] = "/tmp/sf_block_test.XXXXXX";
    struct sf_arena a = make_arena(), scratch = make_arena();
    struct sf_file file = {mkstemp(path) + 1};
    struct sf_span_block_options o = {
        .info = {.block_id = 3, .created_ns = 1700000000000000000, .lsn_lo = 1, .lsn_hi = 9},
        .is_compressed = true,
        .file = &file};
    struct sf_span_block_info info;
    struct sf_span_block_writer *w;
    struct sf_span_block_reader *r;
    struct dice d = {12};
    struct random_block b;
    struct sf_why why;
    uint64_t len, n_faults = 1;

    assert_true(sf_file_is_open(&file));
    assert_ok(sf_span_block_writer_new(&o, &w, &why));
    assert_ok(add_random(w, &d, &a, 1600, 20, &b, &why));
    assert_true(sf_span_block_writer_memory(w) > 1 << 20);
    assert_ok(sf_span_block_writer_finish(w, &len, &info, NULL, &why));
    sf_span_block_writer_free(w);
    assert_ok(sf_span_block_reader_open(&file, SF_TABLES_ALL, &r, &why));
    assert_false(sf_file_is_open(&file)); /* taken */
    assert_int_equal(sf_span_block_reader_len(r), len);
    assert_int_equal(sf_span_block_reader_info(r)->ts_min_ns, info.ts_min_ns);
    assert_int_equal(sf_span_block_reader_info(r)->ts_max_ns, info.ts_max_ns);
    assert_int_equal(sf_span_block_reader_info(r)->n_traces, info.n_traces);
    assert_int_equal(sf_span_block_reader_info(r)->lsn_hi, 9);
    assert_int_equal(info.n_rows, b.n);
    compare_all(r, &b, SF_COL_ALL);
    assert_ok(sf_span_block_verify(r, scratch, no_finding, NULL, &n_faults, &why));
    assert_int_equal(n_faults, 0);
    sf_span_block_reader_close(r);
    unlink(path);
    sf_arena_done(&a);
    sf_arena_done(&scratch);
}

TEST(span_block, may_be_empty)
{
    struct sf_arena scratch = make_arena();
    struct sf_span_block_options o = {.is_compressed = true};
    struct sf_span_block_writer *w;
    struct sf_span_block_reader *r;
    struct sf_buf memory = {0};
    struct sf_why why;
    uint64_t len, n_faults = 1;
    struct sf_trace_place place;
    bool is_found;

    assert_ok(sf_span_block_writer_new(&o, &w, &why));
    assert_ok(sf_span_block_writer_finish(w, &len, NULL, &memory, &why));
    assert_err(sf_span_block_writer_finish(w, &len, NULL, &memory, &why), SF_ERR_INPUT);
    sf_span_block_writer_free(w);
    assert_ok(sf_span_block_reader_open_memory(&memory, SF_TABLES_ALL, &r, &why));
    assert_int_equal(sf_span_block_reader_granules(r), 0);
    assert_ok(
        sf_filter_probe_find_trace(r, 1, (sf_trace_id){{0}}, scratch, &is_found, &place, &why));
    assert_false(is_found);
    assert_ok(sf_span_block_verify(r, scratch, no_finding, NULL, &n_faults, &why));
    assert_int_equal(n_faults, 0);
    sf_span_block_reader_close(r);
    sf_arena_done(&scratch);
}

TEST(span_block, spreads_a_huge_trace_over_continuation_granules)
{
    enum { N = 40000 };
    struct sf_arena a = make_arena(), scratch = make_arena();
    struct sf_span_block_options o = {.info = {.block_id = 9, .tenant = 3, .level = 1},
                                      .is_compressed = true};
    struct sf_span *spans = sf_arena_new_n(&a, N + 2, sizeof(*spans));
    int64_t *index = sf_arena_new_n(&a, N + 2, sizeof(*index));
    uint32_t *tenants = sf_arena_new_n(&a, N + 2, sizeof(*tenants));
    struct random_block b = {spans, index, tenants, N + 2};
    struct sf_span_block_writer *w;
    struct sf_span_block_reader *r;
    struct sf_resource res = {.service = SF_STR("s")};
    struct sf_scope scope = {0};
    struct sf_buf memory = {0};
    struct sf_why why;
    uint64_t len, n_faults;
    uint32_t code, n_continued = 0;
    struct sf_trace_place place;
    bool is_found;

    assert_ok(sf_span_block_writer_new(&o, &w, &why));
    assert_ok(sf_span_block_writer_resource(w, 3, &res, &code, &why));
    assert_ok(sf_span_block_writer_scope(w, 3, &scope, &code, &why));
    for (uint32_t i = 0; i < N + 2; i++) {
        spans[i] = (struct sf_span){.span_id = i + 1, .start_ns = 1000 + i, .end_ns = 5000};
        memset(spans[i].trace_id.b, i == 0 ? 1 : i == N + 1 ? 3 : 2, 16);
        if (i > 1 && i <= N)
            spans[i].parent_id = i > 300 ? i - 299 : i; /* near, far, and in another granule */
        index[i] = 1000 + i;
        tenants[i] = 3;
    }
    assert_ok(sf_span_block_writer_trace(w, 3, spans, index, 1, &why));
    for (uint32_t i = 1; i <= N; i += SF_LIMIT_GRANULE_ROWS) {
        uint32_t n = N + 1 - i < SF_LIMIT_GRANULE_ROWS ? N + 1 - i : SF_LIMIT_GRANULE_ROWS;
        assert_ok(sf_span_block_writer_trace(w, 3, spans + i, index + i, n, &why));
    }
    assert_ok(sf_span_block_writer_trace(w, 3, spans + N + 1, index + N + 1, 1, &why));
    assert_err(sf_span_block_writer_trace(w, 4, spans, index, 1, &why), SF_ERR_INPUT);
    assert_ok(sf_span_block_writer_finish(w, &len, NULL, &memory, &why));
    sf_span_block_writer_free(w);
    assert_ok(sf_span_block_reader_open_memory(&memory, SF_TABLES_ALL, &r, &why));
    assert_int_equal(sf_span_block_reader_info(r)->n_traces, 3);
    compare_all(r, &b, SF_COL_ALL);
    for (uint32_t g = 0; g < sf_span_block_reader_granules(r); g++)
        n_continued += sf_span_block_reader_granule(r, g)->is_continuation;
    assert_int_equal(n_continued, 2);
    assert_ok(
        sf_filter_probe_find_trace(r, 3, spans[5].trace_id, scratch, &is_found, &place, &why));
    assert_true(is_found);
    assert_int_equal(place.granule, 1); /* a granule of its own, where it begins */
    assert_int_equal(place.row, 0);
    assert_ok(
        sf_filter_probe_find_trace(r, 3, spans[N + 1].trace_id, scratch, &is_found, &place, &why));
    assert_true(is_found);
    assert_ok(sf_span_block_verify(r, scratch, no_finding, NULL, &n_faults, &why));
    assert_int_equal(n_faults, 0);
    sf_span_block_reader_close(r);
    sf_arena_done(&a);
    sf_arena_done(&scratch);
}

TEST(span_block, keeps_attributes_when_keys_are_more_than_columns)
{
    enum { N = 300, KEYS = 40 };
    struct sf_arena a = make_arena(), req = make_arena(), scratch = make_arena();
    struct sf_span_block_options o = {.is_compressed = true};
    struct sf_span *spans = sf_arena_new_n(&a, N, sizeof(*spans));
    int64_t index[N] = {0};
    uint32_t tenants[N];
    struct random_block b = {spans, index, tenants, N};
    struct sf_span_block_writer *w;
    struct sf_span_block_reader *r;
    struct sf_resource res = {.service = SF_STR("s")};
    struct sf_scope scope = {0};
    struct sf_buf memory = {0};
    struct sf_why why;
    struct sf_span_rows rows;
    struct sf_key want[2];
    struct sf_value v;
    struct sf_cond cond;
    struct dice d = {4};
    uint64_t len;
    uint32_t code;
    bool may;

    assert_ok(sf_span_block_writer_new(&o, &w, &why));
    assert_ok(sf_span_block_writer_resource(w, 1, &res, &code, &why));
    assert_ok(sf_span_block_writer_scope(w, 1, &scope, &code, &why));
    for (uint32_t i = 0; i < N; i++) {
        struct sf_attr *list = sf_arena_new_n(&a, KEYS, sizeof(*list));
        for (uint32_t k = 0; k < KEYS; k++) {
            sf_arena_print(&a, &list[k].key, "key-%u-%u", i, k);
            list[k].val = random_value(&d, &a, 1 + (int)(k % 8));
        }
        tenants[i] = 1;
        spans[i] = (struct sf_span){.span_id = i + 1, .attrs = {list, KEYS}};
    }
    assert_ok(sf_span_block_writer_trace(w, 1, spans, index, N, &why));
    assert_ok(sf_span_block_writer_finish(w, &len, NULL, &memory, &why));
    sf_span_block_writer_free(w);
    assert_ok(sf_span_block_reader_open_memory(&memory, SF_TABLES_ALL, &r, &why));
    compare_all(r, &b, SF_COL_ALL);
    want[0] = (struct sf_key){SF_SCOPE_SPAN, SF_STR("key-2-5")};
    want[1] = (struct sf_key){SF_SCOPE_SPAN, SF_STR("key-299-9")};
    assert_ok(sf_granule_view_read(r, 0, 0, want, 2, &req, &rows, &why));
    v = spans[299].attrs.list[9].val;
    assert_true(sf_value_eq(rows.want[1].vals[rows.want[1].code[299]], v));
    assert_true(rows.want[1].code[298] == SF_NONE);
    assert_true(sf_value_eq(rows.want[0].vals[rows.want[0].code[2]], spans[2].attrs.list[5].val));
    cond = (struct sf_cond){SF_SCOPE_SPAN, SF_OP_EQ, want[1].name, &v, 1, {0}};
    assert_ok(sf_granule_match_may_hold(r, 0, 1, &cond, 1, NULL, scratch, &may, &why));
    assert_true(may);
    sf_span_block_reader_close(r);
    sf_arena_done(&a);
    sf_arena_done(&req);
    sf_arena_done(&scratch);
}
