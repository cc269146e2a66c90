#include "test.h"

#include <unistd.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/limits.h"
#include "block/profile_block_reader.h"
#include "block/profile_block_writer.h"
#include "block/profile_set.h"
#include "os/file.h"
#include "support/profile_lines.h"
#include "support/profile_make.h"

static struct sf_why why;
static const int64_t NOW_NS = INT64_C(1763200000) * 1000000000;

struct rig {
    struct sf_arena a, scratch;
    struct sf_profile_set *sets[3]; /* of the services, sorted by name */
    struct profile_lines all, details;
    struct sf_profile_batch last;
    bool has_no_lines; /* they are slow */
};

static void init(struct rig *r)
{
    *r = (struct rig){0};
    if (!sf_arena_init(&r->a, (size_t)1 << 30) || !sf_arena_init(&r->scratch, (size_t)1 << 30))
        fail();
}

static void done(struct rig *r)
{
    for (int i = 0; i < 3; i++)
        sf_profile_set_free(r->sets[i]);
    profile_lines_done(&r->all);
    profile_lines_done(&r->details);
    sf_arena_done(&r->a);
    sf_arena_done(&r->scratch);
}

static enum sf_err add(struct rig *r, uint32_t service, const struct sf_profile_batch *b)
{
    struct sf_profile_index index = {.recv_ns = NOW_NS};
    struct sf_arena tmp = r->scratch;
    struct sf_profile_map map;
    if (!r->sets[service])
        r->sets[service] = sf_profile_set_new(1, b->series[0].service);
    if (!r->sets[service] || !sf_profile_map_init(&map, b, &tmp))
        return SF_ERR_NOMEM;
    return sf_profile_set_add(r->sets[service], &map, b, &index, tmp, &why);
}

static void fill(struct rig *r, uint64_t seed, uint32_t n_profiles, uint32_t n_samples, bool is_odd)
{
    struct sf_profile_make m = {
        .rng = seed, .span_percent = 30, .is_odd = is_odd, .has_lent = true};
    for (uint32_t i = 0; i < n_profiles; i++) {
        m.now_ns = NOW_NS - (int64_t)(n_profiles - i) * 10 * 1000000000;
        sf_profile_make_one(&m, i % 3, n_samples, &r->a, &r->last);
        assert_ok(add(r, i % 3, &r->last));
        if (r->has_no_lines)
            continue;
        profile_lines_of_batch(&r->all, &r->last, false);
        profile_lines_of_batch(&r->details, &r->last, true);
    }
    profile_lines_settle(&r->all);
    profile_lines_settle(&r->details);
}

static int by_name(const void *a, const void *b)
{
    const struct sf_profile_set *x = *(struct sf_profile_set *const *)a,
                                *y = *(struct sf_profile_set *const *)b;
    return sf_str_cmp(x->service, y->service);
}

static enum sf_err write_block(struct rig *r, bool is_compressed, const struct sf_file *file,
                               struct sf_buf *out)
{
    struct sf_profile_block_options o = {.info = {.block_id = 7, .tenant = 1, .created_ns = NOW_NS},
                                         .is_compressed = is_compressed,
                                         .file = file};
    struct sf_profile_block_writer *w = NULL;
    uint64_t len;
    enum sf_err err = sf_profile_block_writer_new(&o, &w, &why);
    qsort(r->sets, 3, sizeof(*r->sets), by_name);
    for (int i = 0; !err && i < 3; i++)
        err = sf_profile_block_writer_set(w, r->sets[i], INT64_MIN, INT64_MAX, &why);
    if (!err)
        err = sf_profile_block_writer_finish(w, &len, NULL, out, &why);
    sf_profile_block_writer_free(w);
    return err;
}

static struct sf_profile_block_reader *write_and_open(struct rig *r, bool is_compressed)
{
    struct sf_profile_block_reader *reader = NULL;
    struct sf_buf bytes = {0};
    assert_ok(write_block(r, is_compressed, NULL, &bytes));
    if (sf_profile_block_open_memory(&bytes, &reader, &why))
        fail_msg("%s", why.text);
    return reader;
}

static void no_finding(void *arg, const char *sentence)
{
    (void)arg;
    fail_msg("%s", sentence);
}

static void compare(struct rig *r, const struct sf_profile_block_reader *reader)
{
    struct profile_lines all = {0}, details = {0};
    uint64_t n_faults = 1;
    profile_lines_of_block(&all, reader, false, r->scratch);
    profile_lines_of_block(&details, reader, true, r->scratch);
    profile_lines_settle(&all);
    profile_lines_settle(&details);
    assert_true(profile_lines_same(&r->all, &all));
    assert_true(profile_lines_same(&r->details, &details));
    profile_lines_done(&all);
    profile_lines_done(&details);
    if (sf_profile_block_verify(reader, r->scratch, no_finding, NULL, &n_faults, &why))
        fail_msg("%s", why.text);
    assert_int_equal(n_faults, 0);
}

TEST(profile_block, gives_back_every_sample_and_detail_row)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct rig r;
        struct sf_profile_block_reader *reader;
        init(&r);
        fill(&r, seed, 3 + 6 * (uint32_t)seed, 30 + (uint32_t)seed * 30, seed & 1);
        reader = write_and_open(&r, seed & 2);
        compare(&r, reader);
        sf_profile_block_close(reader);
        done(&r);
    }
}

TEST(profile_block, is_the_same_in_a_file)
{
    char path[] = "/tmp/sf_profile_block.XXXXXX";
    struct sf_file file = {mkstemp(path) + 1};
    struct sf_profile_block_reader *reader = NULL;
    struct rig r;
    init(&r);
    fill(&r, 5, 12, 100, false);
    assert_ok(write_block(&r, true, &file, NULL));
    if (sf_profile_block_open(&file, &reader, &why))
        fail_msg("%s", why.text);
    compare(&r, reader);
    sf_profile_block_close(reader);
    unlink(path);
    done(&r);
}

TEST(profile_block, sums_a_slot_in_its_rollup)
{
    struct rig r;
    struct sf_profile_block_reader *reader;
    uint32_t n_services, n_rollups = 0;
    init(&r);
    r.has_no_lines = true;
    fill(&r, 3, 90, 100, false);
    reader = write_and_open(&r, true);
    sf_profile_block_services(reader, &n_services);
    for (uint32_t i = 0; i < n_services; i++) {
        struct sf_arena a = r.scratch;
        struct sf_profile_places places;
        int64_t sums[2] = {0};
        assert_ok(sf_profile_block_places(reader, i, &a, &places, &why));
        for (uint32_t k = 1; k < places.n_chunks; k++) {
            if (!places.chunks[k].is_rollup)
                continue;
            n_rollups++;
            assert_false(places.chunks[k - 1].is_rollup);
            for (uint32_t m = 0; m < 2; m++) {
                const struct sf_profile_entry *e;
                size_t n;
                assert_ok(sf_profile_block_chunk(reader, i, &places.chunks[k - m], NULL, &a, &e, &n,
                                                 &why));
                for (size_t j = 0; j < n; j++)
                    sums[m] += e[j].value;
            }
        }
        assert_int_equal(sums[0], sums[1]);
    }
    assert_true(n_rollups > 0);
    sf_profile_block_close(reader);
    done(&r);
}

static void compare_columns(const struct sf_profile_columns *c, const struct sf_profile_detail *d,
                            uint32_t n)
{
    uint32_t at = 0;
    assert_int_equal(c->n, n);
    for (uint32_t run = 0; run < c->n_runs; run++) {
        for (uint32_t end = at + c->runs[run].n; at < end; at++) {
            assert_true(at < n && c->runs[run].span_id == d[at].span_id);
            assert_true(sf_trace_id_eq(c->runs[run].trace_id, d[at].trace_id));
            assert_true(c->start_ns[at] == d[at].start_ns && c->value[at] == d[at].value);
            assert_true(c->series[at] == d[at].series && c->node[at] == d[at].node);
            assert_int_equal(c->flags[at], d[at].state << 1 | d[at].has_time |
                                               (d[at].is_lent ? SF_PROFILE_LENT : 0));
        }
    }
    assert_int_equal(at, n);
}

TEST(profile_block, reads_details_by_column_as_by_row)
{
    struct rig r;
    struct sf_profile_block_reader *reader;
    const struct sf_profile_service *services;
    uint32_t n_services, n_empty = 0, n_all = 0;
    init(&r);
    fill(&r, 12, 60, 100 + test_scaled(500), false);
    reader = write_and_open(&r, true);
    services = sf_profile_block_services(reader, &n_services);
    for (uint32_t i = 0; i < n_services; i++) {
        struct sf_arena a = r.scratch;
        struct sf_profile_places places;
        bool *is_node = sf_arena_new_n(&a, services[i].n_nodes, sizeof(*is_node));
        assert_ok(sf_profile_block_places(reader, i, &a, &places, &why));
        for (uint32_t g = 0; g < places.n_granules; g++) {
            struct sf_arena tmp = a;
            const struct sf_profile_detail *d;
            struct sf_profile_columns c;
            uint32_t n;
            assert_ok(sf_profile_block_granule(reader, i, &places, g, &tmp, &d, &n, &why));
            assert_ok(sf_profile_block_columns(reader, i, &places, g, NULL, &tmp, &c, &why));
            compare_columns(&c, d, n);
            assert_ok(sf_profile_block_columns(reader, i, &places, g, is_node, &tmp, &c, &why));
            n_empty += c.n == 0;
            is_node[d[n - 1].node] = true;
            assert_ok(sf_profile_block_columns(reader, i, &places, g, is_node, &tmp, &c, &why));
            compare_columns(&c, d, n);
            is_node[d[n - 1].node] = false;
            n_all++;
        }
    }
    assert_true(n_all > 1);
    assert_int_equal(n_empty, n_all);
    sf_profile_block_close(reader);
    done(&r);
}

TEST(profile_block, finds_the_granules_of_a_span_and_a_trace)
{
    struct rig r;
    struct sf_profile_block_reader *reader;
    const struct sf_profile_service *services;
    uint32_t n_services;
    uint64_t n_seen = 0;
    init(&r);
    r.has_no_lines = true;
    fill(&r, 11, 60, 600, false);
    reader = write_and_open(&r, true);
    services = sf_profile_block_services(reader, &n_services);
    for (uint32_t i = 0; i < n_services; i++) {
        struct sf_arena a = r.scratch;
        struct sf_profile_places places;
        sf_span_id ids[256];
        size_t n_ids;
        const uint32_t *list;
        uint32_t n_list;
        assert_ok(sf_profile_block_places(reader, i, &a, &places, &why));
        assert_ok(sf_profile_block_spans_between(reader, &places, 0, UINT64_MAX, a, ids, 256,
                                                 &n_ids, &why));
        assert_true(n_ids > 10 && places.n_granules > 1);
        for (size_t k = 0; k < n_ids; k++) {
            assert_ok(
                sf_profile_block_find_span(reader, &places, ids[k], &a, &list, &n_list, &why));
            assert_true(n_list > 0);
            for (uint32_t g = 0; g < n_list; g++) {
                const struct sf_profile_detail *d;
                uint32_t n, n_own = 0, n_trace;
                const uint32_t *of_trace;
                bool is_listed = false;
                assert_ok(sf_profile_block_granule(reader, i, &places, list[g], &a, &d, &n, &why));
                for (uint32_t row = 0; row < n; row++) {
                    if (d[row].span_id != ids[k])
                        continue;
                    if (n_own++ == 0) {
                        assert_ok(sf_profile_block_find_trace(reader, &places, d[row].trace_id, &a,
                                                              &of_trace, &n_trace, &why));
                        for (uint32_t t = 0; t < n_trace; t++)
                            is_listed = is_listed || of_trace[t] == list[g];
                        assert_true(is_listed);
                    }
                }
                assert_true(n_own > 0);
                n_seen += n_own;
            }
        }
        assert_ok(
            sf_profile_block_find_span(reader, &places, ids[0] ^ 0x5555, &a, &list, &n_list, &why));
        assert_int_equal(n_list, 0);
        assert_true(services[i].n_details >= n_ids);
    }
    assert_true(n_seen > 100);
    sf_profile_block_close(reader);
    done(&r);
}

TEST(profile_block, takes_back_what_was_added_last)
{
    struct rig r;
    struct sf_profile_block_reader *reader;
    struct sf_profile_make m = {.rng = 99, .span_percent = 50, .now_ns = NOW_NS};
    struct sf_profile_batch extra;
    struct sf_profile_mark mark;
    init(&r);
    fill(&r, 4, 9, 100, false);
    mark = sf_profile_set_mark(r.sets[0]);
    sf_profile_make_one(&m, 0, 500, &r.a, &extra);
    assert_ok(add(&r, 0, &extra));
    sf_profile_set_undo(r.sets[0], mark);
    reader = write_and_open(&r, true);
    compare(&r, reader);
    sf_profile_block_close(reader);
    done(&r);
}

TEST(profile_block, notices_every_damaged_byte)
{
    struct rig r;
    struct sf_buf bytes = {0};
    init(&r);
    r.has_no_lines = true;
    fill(&r, 6, 3, 20, false);
    assert_ok(write_block(&r, true, NULL, &bytes));
    for (size_t at = 0; at < bytes.len; at += at < 130 || at + 70 > bytes.len ? 1 : 149) {
        struct sf_profile_block_reader *reader = NULL;
        struct sf_buf copy = {0};
        uint64_t n_faults = 0;
        enum sf_err err;
        sf_buf_add(&copy, bytes.p, bytes.len);
        copy.p[at] ^= 0x10;
        err = sf_profile_block_open_memory(&copy, &reader, &why);
        if (!err)
            err = sf_profile_block_verify(reader, r.scratch, no_finding, NULL, &n_faults, &why);
        if (err != SF_ERR_CORRUPT && err != SF_ERR_UNSUPPORTED)
            fail_msg("byte %zu of %zu: %s", at, bytes.len, sf_err_name(err));
        sf_profile_block_close(reader);
        sf_buf_done(&copy);
    }
    sf_buf_done(&bytes);
    done(&r);
}

TEST(profile_block, fails_cleanly_wherever_memory_ends)
{
    bool is_done = false;
    for (uint64_t nth = 1; !is_done && nth < 3000; nth += 1 + nth / 8) {
        struct rig r;
        struct sf_buf bytes = {0};
        struct sf_profile_make m = {.rng = 1, .span_percent = 30, .now_ns = NOW_NS};
        enum sf_err err = SF_OK;
        init(&r);
        sf_profile_make_one(&m, 0, 60, &r.a, &r.last);
        sf_heap_fail_after(nth);
        err = add(&r, 0, &r.last);
        if (!err) {
            struct sf_profile_block_options o = {.is_compressed = true};
            struct sf_profile_block_writer *w = NULL;
            struct sf_profile_block_reader *reader = NULL;
            uint64_t len;
            err = sf_profile_block_writer_new(&o, &w, &why);
            if (!err)
                err = sf_profile_block_writer_set(w, r.sets[0], INT64_MIN, INT64_MAX, &why);
            if (!err)
                err = sf_profile_block_writer_finish(w, &len, NULL, &bytes, &why);
            if (!err)
                err = sf_profile_block_open_memory(&bytes, &reader, &why);
            is_done = !err;
            sf_profile_block_close(reader);
            sf_profile_block_writer_free(w);
        }
        sf_heap_fail_after(0);
        if (err && err != SF_ERR_NOMEM)
            fail_msg("%s: %s", sf_err_name(err), why.text);
        sf_buf_done(&bytes);
        done(&r);
    }
    assert_true(is_done);
}
