#include "base/heap.h"
#include "random_block.h"

static struct sf_buf small_block(bool is_compressed, struct sf_arena *a, struct random_block *b)
{
    struct dice d = {77};
    uint64_t dups[3] = {1, 2, 3}, sources[2] = {4, 5};
    struct sf_span_block_options o = {.info = {.block_id = 5, .level = 0},
                                      .is_compressed = is_compressed,
                                      .dup_hashes = dups,
                                      .n_dup_hashes = 3,
                                      .source_ids = sources,
                                      .n_source_ids = 2};
    struct sf_span_block_writer *w;
    struct sf_buf memory = {0};
    struct sf_why why;
    uint64_t len;

    assert_ok(sf_span_block_writer_new(&o, &w, &why));
    assert_ok(add_random(w, &d, a, 6, 4, b, &why));
    assert_ok(sf_span_block_writer_finish(w, &len, NULL, &memory, &why));
    sf_span_block_writer_free(w);
    return memory;
}

static void count_finding(void *arg, const char *sentence)
{
    (void)sentence;
    ++*(int *)arg;
}

/* Opens damaged bytes and uses everything. Whatever can still be read must be what was written. */
static bool survives(const uint8_t *bytes, size_t len, const struct random_block *b,
                     struct sf_arena req, bool is_trusted)
{
    struct sf_buf memory = {0};
    struct sf_span_block_reader *r = NULL;
    struct sf_why why = {""};
    uint64_t n_faults = 0;
    int n_findings = 0;
    uint32_t at = 0;
    bool is_clean = true;
    enum sf_err err;

    sf_buf_add(&memory, bytes, len);
    err = is_trusted ? sf_span_block_reader_open_trusted(&memory, &r, &why)
                     : sf_span_block_reader_open_memory(&memory, SF_TABLES_ALL, &r, &why);
    if (err) {
        sf_buf_done(&memory);
        assert_true(err == SF_ERR_CORRUPT || err == SF_ERR_UNSUPPORTED || err == SF_ERR_LIMIT);
        assert_true(why.text[0]);
        return false;
    }
    for (uint32_t g = 0; g < sf_span_block_reader_granules(r); g++) {
        struct sf_arena a = req;
        struct sf_span_rows rows;
        err = sf_granule_view_read(r, g, SF_COL_ALL, NULL, 0, &a, &rows, &why);
        if (err) {
            assert_true(err == SF_ERR_CORRUPT || err == SF_ERR_LIMIT);
            is_clean = false;
            at += sf_span_block_reader_granule(r, g)->n_rows;
            continue;
        }
        for (uint32_t i = 0; !is_trusted && i < rows.n_rows; i++, at++) {
            struct sf_span s = sf_span_rows_get(&rows, i);
            assert_null(span_difference(&s, &b->spans[at], SF_COL_ALL));
        }
    }
    for (uint32_t i = 0; i < b->n; i++) {
        bool is_found = false;
        struct sf_trace_place place;
        err = sf_filter_probe_find_trace(r, b->tenants[i], b->spans[i].trace_id, req, &is_found,
                                         &place, &why);
        assert_true(err || is_found || is_trusted);
        is_clean &= !err;
    }
    err = sf_span_block_verify(r, req, count_finding, &n_findings, &n_faults, &why);
    assert_true(err || (uint64_t)n_findings == n_faults);
    is_clean &= !err && n_faults == 0;
    sf_span_block_reader_close(r);
    return is_clean;
}

TEST(span_block_damage, notices_every_flipped_byte)
{
    for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
        struct sf_arena a = make_arena(), req = make_arena();
        struct random_block b;
        struct sf_buf bytes = small_block(is_compressed, &a, &b);
        assert_true(survives(bytes.p, bytes.len, &b, req, false));
        for (size_t i = 0; i < bytes.len; i += test_stride()) {
            bytes.p[i] ^= (uint8_t)(1u << (i % 8));
            if (survives(bytes.p, bytes.len, &b, req, false))
                fail_msg("byte %zu of %zu may be changed unseen", i, bytes.len);
            bytes.p[i] ^= (uint8_t)(1u << (i % 8));
        }
        sf_buf_done(&bytes);
        sf_arena_done(&a);
        sf_arena_done(&req);
    }
}

TEST(span_block_damage, survives_any_byte_when_checksums_are_not_looked_at)
{
    for (int is_compressed = 0; is_compressed < 2; is_compressed++) {
        struct sf_arena a = make_arena(), req = make_arena();
        struct random_block b;
        struct sf_buf bytes = small_block(is_compressed, &a, &b);
        static const uint8_t PUT[] = {0, 1, 0x7f, 0x80, 0xff};
        req.cap = 8 << 20; /* memory has an end */
        for (size_t i = 0; i < bytes.len; i += test_stride()) {
            uint8_t was = bytes.p[i];
            bytes.p[i] = PUT[i % 5] == was ? (uint8_t)~was : PUT[i % 5];
            survives(bytes.p, bytes.len, &b, req, true);
            bytes.p[i] = was;
        }
        req.cap = (size_t)96 << 20;
        sf_buf_done(&bytes);
        sf_arena_done(&a);
        sf_arena_done(&req);
    }
}

TEST(span_block_damage, is_no_block_when_cut_anywhere)
{
    struct sf_arena a = make_arena(), req = make_arena();
    struct random_block b;
    struct sf_buf bytes = small_block(true, &a, &b);
    for (size_t len = 0; len < bytes.len; len += test_stride())
        assert_false(survives(bytes.p, len, &b, req, false));
    sf_buf_done(&bytes);
    sf_arena_done(&a);
    sf_arena_done(&req);
}

/* ---- memory ---- */

static enum sf_err write_and_read(struct sf_arena *a, struct sf_arena req, struct sf_why *why)
{
    struct dice d = {31};
    struct sf_span_block_options o = {.is_compressed = true};
    struct sf_span_block_writer *w = NULL;
    struct sf_span_block_reader *r = NULL;
    struct sf_buf memory = {0};
    struct random_block b;
    uint64_t len;
    enum sf_err err = sf_span_block_writer_new(&o, &w, why);

    if (!err)
        err = add_random(w, &d, a, 40, 6, &b, why);
    if (!err)
        err = sf_span_block_writer_finish(w, &len, NULL, &memory, why);
    if (!err)
        err = sf_span_block_reader_open_memory(&memory, SF_TABLES_ALL, &r, why);
    for (uint32_t g = 0; !err && g < sf_span_block_reader_granules(r); g++) {
        struct sf_span_rows rows;
        err = sf_granule_view_read(r, g, SF_COL_ALL, NULL, 0, &req, &rows, why);
    }
    sf_span_block_writer_free(w);
    sf_span_block_reader_close(r);
    sf_buf_done(&memory);
    return err;
}

TEST(span_block_damage, survives_every_failed_allocation)
{
    struct sf_arena a = make_arena(), req = make_arena();
    struct sf_why why = {""};
    uint64_t before = sf_heap_calls(), n_calls;

    assert_ok(write_and_read(&a, req, &why));
    n_calls = sf_heap_calls() - before;
    assert_true(n_calls > 50);
    for (uint64_t nth = 1; nth <= n_calls; nth += test_stride()) {
        enum sf_err err;
        sf_arena_reset(&a);
        sf_heap_fail_after(nth);
        err = write_and_read(&a, req, &why);
        sf_heap_fail_after(0);
        if (err != SF_ERR_NOMEM)
            fail_msg("allocation %llu of %llu gives %s", (unsigned long long)nth,
                     (unsigned long long)n_calls, sf_err_name(err));
    }
    sf_arena_done(&a);
    sf_arena_done(&req);
}

TEST(span_block_damage, ends_with_a_limit_when_the_arena_is_too_small)
{
    struct sf_arena a = make_arena(), req = make_arena();
    struct random_block b;
    struct sf_why why;
    struct sf_span_block_reader *r = write_random(3, true, 200, 6, &a, &b);
    struct sf_span_rows rows;
    uint32_t n_limits = 0;

    for (size_t cap = 0; cap < 1 << 20; cap += 3001 * test_stride()) {
        struct sf_arena tight = req;
        enum sf_err err;
        tight.cap = cap;
        err = sf_granule_view_read(r, 0, SF_COL_ALL, NULL, 0, &tight, &rows, &why);
        assert_true(err == SF_OK || err == SF_ERR_LIMIT);
        n_limits += err == SF_ERR_LIMIT;
    }
    assert_true(n_limits > 10 / test_stride());
    sf_span_block_reader_close(r);
    sf_arena_done(&a);
    sf_arena_done(&req);
}
