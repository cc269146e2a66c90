#include "test.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/num.h"
#include "block/profile/profile_block_reader.h"
#include "block/profile/profile_block_writer.h"
#include "block/profile/profile_set.h"
#include "os/file.h"
#include "support/profile_base.h"
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
    bool has_no_lent;
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
    if (!r->sets[service] || !sf_profile_set_map_init(&map, b, &tmp))
        return SF_ERR_NOMEM;
    return sf_profile_set_add(r->sets[service], &map, b, &index, tmp, &why);
}

static void fill(struct rig *r, uint64_t seed, uint32_t n_profiles, uint32_t n_samples, bool is_odd)
{
    struct sf_profile_make m = {
        .rng = seed, .span_percent = 30, .is_odd = is_odd, .has_lent = !r->has_no_lent};
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
        err = sf_profile_set_write(w, r->sets[i], INT64_MIN, INT64_MAX, &why);
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
    if (sf_profile_block_reader_open_memory(&bytes, &reader, &why))
        fail_msg("%s", why.text);
    return reader;
}

static struct sf_buf bytes_with_seed(uint64_t seed)
{
    struct rig r;
    struct sf_buf bytes = {0};
    sf_key_fix(seed);
    init(&r);
    fill(&r, 5, 9, 700, true);
    assert_ok(write_block(&r, true, NULL, &bytes));
    done(&r);
    return bytes;
}

TEST(profile_block, is_the_same_bytes_whatever_the_order_of_tables)
{
    struct sf_buf one = bytes_with_seed(1), two = bytes_with_seed(2);
    assert_true(one.len > 10000);
    assert_int_equal(one.len, two.len);
    assert_memory_equal(one.p, two.p, one.len);
    sf_buf_done(&one);
    sf_buf_done(&two);
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
        sf_profile_block_reader_close(reader);
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
    if (sf_profile_block_reader_open(&file, &reader, &why))
        fail_msg("%s", why.text);
    compare(&r, reader);
    sf_profile_block_reader_close(reader);
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
    sf_profile_block_reader_services(reader, &n_services);
    for (uint32_t i = 0; i < n_services; i++) {
        struct sf_arena a = r.scratch;
        struct sf_profile_places places;
        int64_t sums[2] = {0};
        assert_ok(sf_profile_tables_decode_places(reader, i, &a, &places, &why));
        for (uint32_t k = 1; k < places.n_chunks; k++) {
            if (!places.chunks[k].is_rollup)
                continue;
            n_rollups++;
            assert_false(places.chunks[k - 1].is_rollup);
            for (uint32_t m = 0; m < 2; m++) {
                const struct sf_profile_entry *e;
                size_t n;
                assert_ok(sf_profile_samples_chunk(reader, i, &places.chunks[k - m], NULL, &a, &e,
                                                   &n, &why));
                for (size_t j = 0; j < n; j++)
                    sums[m] += e[j].value;
            }
        }
        assert_int_equal(sums[0], sums[1]);
    }
    assert_true(n_rollups > 0);
    sf_profile_block_reader_close(reader);
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
    services = sf_profile_block_reader_services(reader, &n_services);
    for (uint32_t i = 0; i < n_services; i++) {
        struct sf_arena a = r.scratch;
        struct sf_profile_places places;
        bool *is_node = sf_arena_new_n(&a, services[i].n_nodes, sizeof(*is_node));
        assert_ok(sf_profile_tables_decode_places(reader, i, &a, &places, &why));
        for (uint32_t g = 0; g < places.n_granules; g++) {
            struct sf_arena tmp = a;
            const struct sf_profile_detail *d;
            struct sf_profile_columns c;
            uint32_t n;
            assert_ok(sf_profile_samples_granule(reader, i, &places, g, &tmp, &d, &n, &why));
            assert_ok(sf_profile_samples_columns(reader, i, &places, g, NULL, &tmp, &c, &why));
            compare_columns(&c, d, n);
            assert_ok(sf_profile_samples_columns(reader, i, &places, g, is_node, &tmp, &c, &why));
            n_empty += c.n == 0;
            is_node[d[n - 1].node] = true;
            assert_ok(sf_profile_samples_columns(reader, i, &places, g, is_node, &tmp, &c, &why));
            compare_columns(&c, d, n);
            is_node[d[n - 1].node] = false;
            n_all++;
        }
    }
    assert_true(n_all > 1);
    assert_int_equal(n_empty, n_all);
    sf_profile_block_reader_close(reader);
    done(&r);
}

/* What the rows say, row by row: the sum of one span over the nodes and series. */
static int64_t sum_of_span(const struct sf_profile_detail *d, uint32_t n, sf_span_id id,
                           const bool *is_node, const bool *is_series, uint32_t *out_n)
{
    int64_t sum = 0;
    *out_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (d[i].span_id != id || !is_node[d[i].node] || !is_series[d[i].series])
            continue;
        sum = sf_add_sat_i64(sum, d[i].value);
        (*out_n)++;
    }
    return sum;
}

static void compare_costs(const struct sf_profile_detail *d, uint32_t n, const bool *is_node,
                          const bool *is_series, const struct sf_profile_cost *costs,
                          uint32_t n_costs)
{
    uint32_t n_want = 0, n_rows, n_found = 0;
    for (uint32_t i = 0; i < n; i++)
        n_want += d[i].span_id && is_node[d[i].node] && is_series[d[i].series];
    for (uint32_t i = 0; i < n_costs; i++) {
        sf_span_id id = costs[i].span_id;
        int64_t want = sum_of_span(d, n, id, is_node, is_series, &n_rows), sum = 0;
        bool is_first = true;
        for (uint32_t k = 0; k < n_costs; k++) { /* one for each trace it is seen in */
            is_first = is_first && (k >= i || costs[k].span_id != id);
            sum += costs[k].span_id == id ? costs[k].value : 0;
        }
        assert_true(n_rows > 0 && sum == want);
        n_found += is_first ? n_rows : 0;
    }
    assert_int_equal(n_found, n_want);
}

/* One series and value, or several; no stack, one, some, all. */
TEST(profile_block, tells_costs_by_span_as_its_rows_do)
{
    uint32_t n_told = 0, n_untold = 0, n_some = 0;
    for (uint64_t seed = 21; seed < 27; seed++) {
        struct rig r;
        struct sf_profile_block_reader *reader;
        const struct sf_profile_service *services;
        struct sf_profile_make dice = {.rng = seed};
        uint32_t n_services;
        init(&r);
        r.has_no_lines = true;
        r.has_no_lent = seed % 3 != 0;
        fill(&r, seed, 45, 400, false);
        reader = write_and_open(&r, seed & 1);
        services = sf_profile_block_reader_services(reader, &n_services);
        for (uint32_t i = 0; i < n_services; i++) {
            struct sf_arena a = r.scratch;
            struct sf_profile_places places;
            bool *is_node = sf_arena_new_n(&a, services[i].n_nodes, sizeof(*is_node));
            bool *is_series = sf_arena_new_n(&a, services[i].n_series, sizeof(*is_series));
            assert_ok(sf_profile_tables_decode_places(reader, i, &a, &places, &why));
            for (uint32_t g = 0; g < 4 * places.n_granules; g++) {
                struct sf_arena tmp = a;
                const struct sf_profile_detail *d;
                const struct sf_profile_cost *costs;
                uint32_t n, n_costs, percent = (uint32_t[]){0, 3, 40, 100}[g % 4];
                bool is_told, has_lent = false, has_node = false;
                for (uint32_t k = 0; k < services[i].n_nodes; k++)
                    is_node[k] = sf_profile_make_below(&dice, 100) < percent;
                for (uint32_t k = 0; k < services[i].n_series; k++)
                    is_series[k] = sf_profile_make_below(&dice, 3) > 0;
                assert_ok(
                    sf_profile_samples_granule(reader, i, &places, g / 4, &tmp, &d, &n, &why));
                assert_ok(sf_profile_stacks_decode_costs(reader, i, &places, g / 4, is_node,
                                                         is_series, &tmp, &costs, &n_costs,
                                                         &is_told, &why));
                for (uint32_t k = 0; k < n; k++) {
                    has_lent = has_lent || d[k].is_lent;
                    has_node = has_node || is_node[d[k].node];
                }
                assert_true(is_told || (has_lent && has_node));
                n_untold += !is_told;
                if (!is_told)
                    continue;
                compare_costs(d, n, is_node, is_series, costs, n_costs);
                n_told++;
                n_some += n_costs > 0;
            }
        }
        sf_profile_block_reader_close(reader);
        done(&r);
    }
    assert_true(n_told > 20 && n_untold > 5 && n_some > 10);
}

/* The base of the corpora, and the same with a section as an earlier format had it. */
struct dated {
    struct profile_base base;
    struct sf_profile_block_reader *readers[2];
    const struct sf_profile_detail *rows[2];
    uint32_t n[2];
    struct sf_profile_places places[2];
    struct sf_arena a;
};

/* Reads both, and finds no fault in either. */
static void open_dated(struct dated *x, const char *corpus, uint16_t section, uint16_t without)
{
    struct sf_buf old = {0}, bytes[2] = {{0}, {0}};
    struct sf_file file = SF_FILE_NONE;
    struct sf_profile_columns columns;
    uint64_t n_faults = 1;
    char path[600];
    *x = (struct dated){0};
    snprintf(path, sizeof(path), "%s/tests/corpus/%s/as-written.bin", getenv("SPANFLAME_SOURCE"),
             corpus);
    file = (struct sf_file){open(path, O_RDONLY | O_CLOEXEC) + 1};
    assert_ok(sf_file_read_all(&file, 1 << 20, &old, &why));
    sf_file_close(&file);
    profile_base_make(&x->base);
    sf_bytes content = sf_buf_bytes(&old);
    profile_base_put(&x->base, section, 0, NULL, &bytes[0]);
    profile_base_put(&x->base, section, without, &content, &bytes[1]);
    if (!sf_arena_init(&x->a, 64 << 20))
        fail();
    for (int i = 0; i < 2; i++) {
        assert_ok(sf_profile_block_reader_open_memory(&bytes[i], &x->readers[i], &why));
        assert_ok(sf_profile_tables_decode_places(x->readers[i], 0, &x->a, &x->places[i], &why));
        assert_ok(sf_profile_samples_granule(x->readers[i], 0, &x->places[i], 0, &x->a, &x->rows[i],
                                             &x->n[i], &why));
        assert_ok(sf_profile_samples_columns(x->readers[i], 0, &x->places[i], 0, NULL, &x->a,
                                             &columns, &why));
        compare_columns(&columns, x->rows[i], x->n[i]);
        assert_ok(sf_profile_block_verify(x->readers[i], x->a, no_finding, NULL, &n_faults, &why));
        assert_int_equal(n_faults, 0);
    }
    assert_int_equal(x->n[0], x->n[1]);
    assert_true(x->n[0] > 10);
    sf_buf_done(&old);
}

static bool is_told(struct dated *x, int i)
{
    bool is_node[4096], is_series[64], out;
    const struct sf_profile_cost *costs;
    uint32_t n_costs;
    memset(is_node, 1, sizeof(is_node));
    memset(is_series, 1, sizeof(is_series));
    assert_ok(sf_profile_stacks_decode_costs(x->readers[i], 0, &x->places[i], 0, is_node, is_series,
                                             &x->a, &costs, &n_costs, &out, &why));
    return out;
}

static void close_dated(struct dated *x)
{
    for (int i = 0; i < 2; i++)
        sf_profile_block_reader_close(x->readers[i]);
    profile_base_done(&x->base);
    sf_arena_done(&x->a);
}

/* A granule as blocks had it once is in the corpus: the rows are the same, and no costs are told
 * without them. */
TEST(profile_block, reads_granules_from_before_stacks_lay_apart)
{
    struct dated x;
    open_dated(&x, "profile_det", SF_PROFILE_DET, SF_PROFILE_STX);
    assert_true(is_told(&x, 0));
    assert_false(is_told(&x, 1));
    for (uint32_t i = 0; i < x.n[0]; i++) {
        struct sf_profile_detail now = x.rows[0][i]; /* the times happen to be whole milliseconds */
        assert_false(now.is_coarse);
        now.is_coarse = true;
        assert_memory_equal(&now, &x.rows[1][i], sizeof(now));
    }
    close_dated(&x);
}

TEST(profile_block, reads_times_and_stacks_of_format_2)
{
    static const struct {
        const char *corpus;
        uint16_t section;
    } OF[] = {{"profile_times_2", SF_PROFILE_DET}, {"profile_stx_2", SF_PROFILE_STX}};
    for (int k = 0; k < 2; k++) {
        struct dated x;
        open_dated(&x, OF[k].corpus, OF[k].section, SF_PROFILE_SECTIONS);
        assert_int_equal(sf_profile_block_reader_info(x.readers[1])->format, 2);
        assert_true(is_told(&x, 0) && is_told(&x, 1));
        assert_memory_equal(x.rows[0], x.rows[1], x.n[0] * sizeof(*x.rows[0]));
        close_dated(&x);
    }
}

/* Kernel's and runtime's numbers and names of threads; times in microseconds. */
static void check_threads(bool is_waits)
{
    struct sf_label label = {SF_STR("service_name"), SF_STR("shop")};
    struct sf_process processes[] = {{SF_STR("shop"), SF_STR("instance=1"), false},
                                     {SF_STR("shop"), SF_STR("instance=2"), false}};
    struct sf_series series[] = {
        {.service = SF_STR("shop"),
         .type = {SF_STR("cpu"), SF_STR("cpu"), SF_STR("ns"), SF_STR("cpu"), SF_STR("ns")},
         .labels = &label,
         .n_labels = 1,
         .process = 1,
         .time_ns = NOW_NS},
        {.process = 0}};
    struct sf_stack stack = {0};
    struct sf_sample samples[] = {
        {.thread = 77,
         .is_kernel_thread = true,
         .runtime_thread = 31,
         .start_ns = NOW_NS + 1234567},
        {.thread = 77, .thread_name = SF_STR("http-1"), .start_ns = NOW_NS + 2300999},
        {.thread = UINT64_MAX - 5, .runtime_thread = 40, .start_ns = NOW_NS + 300},
        {.thread = 0, .start_ns = NOW_NS + 5},
        {.series = 1, .thread = 77, .start_ns = NOW_NS}};
    struct sf_profile_batch b = {.stacks = &stack,
                                 .processes = processes,
                                 .series = series,
                                 .samples = samples,
                                 .n_stacks = 1,
                                 .n_processes = 2,
                                 .n_series = 2,
                                 .n_samples = 5};
    struct rig r;
    struct sf_profile_block_reader *reader;
    const struct sf_profile_thread *threads;
    const struct sf_profile_detail *rows;
    struct sf_profile_columns columns;
    struct sf_profile_places places;
    uint32_t n, n_rows;
    init(&r);
    series[1] = series[0];
    series[1].process = 0;
    for (int i = 0; i < 5; i++) {
        samples[i].count = 1;
        samples[i].has_time = true;
        samples[i].length_ns = 2000000 + 1700 * (i + 1); /* beyond the start of the next */
        samples[i].value = is_waits ? samples[i].length_ns : 1;
    }
    r.sets[0] = sf_profile_set_new(1, SF_STR("shop"));
    r.sets[1] = sf_profile_set_new(1, SF_STR("tea"));
    r.sets[2] = sf_profile_set_new(1, SF_STR("zoo"));
    assert_ok(add(&r, 0, &b));
    reader = write_and_open(&r, true);
    assert_int_equal(sf_profile_block_reader_info(reader)->format, SF_PROFILE_BLOCK_FORMAT);
    assert_ok(sf_profile_tables_decode_threads(reader, 0, &r.a, &threads, &n, &why));
    assert_int_equal(n, 3);
    /* the first process that came is place 0: that of the first series */
    assert_int_equal(threads[0].process, 0);
    assert_int_equal(threads[0].t.thread, 77);
    assert_int_equal(threads[0].t.kernel_id, 77);
    assert_int_equal(threads[0].t.runtime_id, 31);
    assert_str(threads[0].t.name, "http-1");
    assert_int_equal(threads[1].t.kernel_id, 0);
    assert_int_equal(threads[1].t.runtime_id, 40);
    assert_int_equal(threads[2].process, 1);
    assert_int_equal(threads[2].t.kernel_id, 0);
    assert_ok(sf_profile_tables_decode_places(reader, 0, &r.a, &places, &why));
    assert_ok(sf_profile_samples_granule(reader, 0, &places, 0, &r.a, &rows, &n_rows, &why));
    assert_int_equal(n_rows, 5);
    assert_int_equal(rows[1].start_ns, NOW_NS + 1234000);
    assert_int_equal(rows[1].length_ns, 2001000);
    assert_int_equal(rows[2].start_ns, NOW_NS + 2300000);
    assert_int_equal(rows[2].length_ns, 2003000);
    assert_false(rows[1].is_coarse);
    assert_ok(sf_profile_samples_columns(reader, 0, &places, 0, NULL, &r.a, &columns, &why));
    compare_columns(&columns, rows, n_rows);
    sf_profile_block_reader_close(reader);
    done(&r);
}

TEST(profile_block, keeps_threads_and_microseconds)
{
    check_threads(false);
}

/* Their lengths are kept once, as values. */
TEST(profile_block, keeps_waits_as_they_were)
{
    check_threads(true);
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
    services = sf_profile_block_reader_services(reader, &n_services);
    for (uint32_t i = 0; i < n_services; i++) {
        struct sf_arena a = r.scratch;
        struct sf_profile_places places;
        sf_span_id ids[256];
        size_t n_ids;
        const uint32_t *list;
        uint32_t n_list;
        assert_ok(sf_profile_tables_decode_places(reader, i, &a, &places, &why));
        assert_ok(sf_profile_samples_spans_between(reader, &places, 0, UINT64_MAX, a, ids, 256,
                                                   &n_ids, &why));
        assert_true(n_ids > 10 && places.n_granules > 1);
        for (size_t k = 0; k < n_ids; k++) {
            assert_ok(
                sf_profile_samples_find_span(reader, &places, ids[k], &a, &list, &n_list, &why));
            assert_true(n_list > 0);
            for (uint32_t g = 0; g < n_list; g++) {
                const struct sf_profile_detail *d;
                uint32_t n, n_own = 0, n_trace;
                const uint32_t *of_trace;
                bool is_listed = false;
                assert_ok(
                    sf_profile_samples_granule(reader, i, &places, list[g], &a, &d, &n, &why));
                for (uint32_t row = 0; row < n; row++) {
                    if (d[row].span_id != ids[k])
                        continue;
                    if (n_own++ == 0) {
                        assert_ok(sf_profile_samples_find_trace(reader, &places, d[row].trace_id,
                                                                &a, &of_trace, &n_trace, &why));
                        for (uint32_t t = 0; t < n_trace; t++)
                            is_listed = is_listed || of_trace[t] == list[g];
                        assert_true(is_listed);
                    }
                }
                assert_true(n_own > 0);
                n_seen += n_own;
            }
        }
        assert_ok(sf_profile_samples_find_span(reader, &places, ids[0] ^ 0x5555, &a, &list, &n_list,
                                               &why));
        assert_int_equal(n_list, 0);
        assert_true(services[i].n_details >= n_ids);
    }
    assert_true(n_seen > 100);
    sf_profile_block_reader_close(reader);
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
    sf_profile_block_reader_close(reader);
    done(&r);
}

/* A set that is told what another one held needs no larger tables for the same profiles, and holds
 * the same. */
TEST(profile_block, is_the_same_of_a_set_with_reserved_tables)
{
    struct rig r, again;
    struct sf_buf bytes = {0}, bytes_again = {0};
    struct sf_profile_set *s;
    uint32_t n_slots;
    init(&r);
    init(&again);
    r.has_no_lines = again.has_no_lines = true;
    fill(&r, 4, 9, 500, true);
    for (int i = 0; i < 3; i++) {
        again.sets[i] = sf_profile_set_new(1, r.sets[i]->service);
        assert_non_null(again.sets[i]);
        sf_profile_set_reserve(again.sets[i], sf_profile_set_sizes(r.sets[i]));
    }
    s = again.sets[0];
    n_slots = s->tree.paths.n_slots;
    assert_true(n_slots > 64);
    fill(&again, 4, 9, 500, true);
    assert_int_equal(s->tree.paths.n_slots, n_slots);
    assert_ok(write_block(&r, true, NULL, &bytes));
    assert_ok(write_block(&again, true, NULL, &bytes_again));
    assert_int_equal(bytes.len, bytes_again.len);
    assert_memory_equal(bytes.p, bytes_again.p, bytes.len);
    sf_buf_done(&bytes);
    sf_buf_done(&bytes_again);
    done(&r);
    done(&again);
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
        err = sf_profile_block_reader_open_memory(&copy, &reader, &why);
        if (!err)
            err = sf_profile_block_verify(reader, r.scratch, no_finding, NULL, &n_faults, &why);
        if (err != SF_ERR_CORRUPT && err != SF_ERR_UNSUPPORTED)
            fail_msg("byte %zu of %zu: %s", at, bytes.len, sf_err_name(err));
        sf_profile_block_reader_close(reader);
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
                err = sf_profile_set_write(w, r.sets[0], INT64_MIN, INT64_MAX, &why);
            if (!err)
                err = sf_profile_block_writer_finish(w, &len, NULL, &bytes, &why);
            if (!err)
                err = sf_profile_block_reader_open_memory(&bytes, &reader, &why);
            is_done = !err;
            sf_profile_block_reader_close(reader);
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
