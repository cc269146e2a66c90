/* Detail rows of any shape through a block: what comes back is what went in, in microseconds. */
#include "test.h"

#include <math.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/num.h"
#include "block/format/section.h"
#include "block/profile/profile_block_reader.h"
#include "block/profile/profile_block_writer.h"

enum { NODES = 700, SERIES = 40, PROCESSES = 3, ROWS_MAX = 2 * SF_PROFILE_GRANULE_ROWS + 5 };
static struct sf_why why;
static uint64_t rng = 9;

static uint64_t draw(uint64_t below)
{
    rng = rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (rng >> 20) % below;
}

struct shape { /* how many, and of how many kinds */
    const char *name;
    uint32_t n, n_threads, n_series, n_nodes;
    int64_t start_ns, step_ns, length_ns; /* drawn below the last two */
    bool is_wait, is_odd;                 /* odd: values, states and flags are anything */
};

static int by_order(const void *a, const void *b)
{
    return sf_profile_set_write_detail_cmp(a, b);
}

static void fill(const struct shape *s, struct sf_profile_detail *d)
{
    int64_t at = s->start_ns;
    for (uint32_t i = 0; i < s->n; i++) {
        at += (int64_t)draw((uint64_t)s->step_ns);
        d[i] = (struct sf_profile_detail){.span_id = draw(s->n / 4 + 2),
                                          .thread = draw(s->n_threads),
                                          .start_ns = at,
                                          .length_ns = (int64_t)draw((uint64_t)s->length_ns),
                                          .value = 10000000,
                                          .process = draw(9) ? (uint32_t)draw(PROCESSES) : SF_NONE,
                                          .series = (uint32_t)draw(s->n_series),
                                          .node = (uint32_t)draw(s->n_nodes),
                                          .has_time = true,
                                          .state = SF_STATE_RUNNING};
        d[i].trace_id.b[3] = (uint8_t)draw(3);
        if (s->is_wait && d[i].series % 2 == 0) {
            d[i].value = d[i].length_ns;
            d[i].state = (uint8_t)(d[i].node % SF_STATES);
        }
        if (s->is_odd) {
            d[i].value = (int64_t)(draw(UINT64_MAX) << draw(40));
            d[i].state = (uint8_t)draw(SF_STATES);
            d[i].has_time = draw(2);
            d[i].is_lent = draw(5) == 0;
            d[i].is_coarse = draw(5) == 0;
        }
    }
    qsort(d, s->n, sizeof(*d), by_order);
}

static int64_t cut(int64_t ns)
{
    int64_t us = ns / 1000 - (ns % 1000 < 0);
    return (us < INT64_MIN / 1000 ? INT64_MIN / 1000 : us) * 1000;
}

static struct sf_buf write_block(const struct sf_profile_detail *d, uint32_t n)
{
    static struct sf_profile_node nodes[NODES];
    static struct sf_profile_series series[SERIES];
    struct sf_profile_location location = {.module = SF_NONE};
    struct sf_process processes[PROCESSES] = {{SF_STR("shop"), SF_STR("a"), false},
                                              {SF_STR("shop"), SF_STR("b"), false},
                                              {SF_STR("shop"), SF_STR("c"), false}};
    struct sf_profile_tables t = {
        .tenant = 1,
        .service = SF_STR("shop"),
        .symbols = {.locations = &location, .n_locations = 1, .nodes = nodes, .n_nodes = NODES},
        .series = series,
        .processes = processes,
        .n_series = SERIES,
        .n_processes = PROCESSES};
    struct sf_profile_block_options options = {.info = {.block_id = 1}, .is_compressed = true};
    struct sf_profile_block_writer *w;
    struct sf_buf bytes = {0};
    uint64_t len;
    assert_ok(sf_profile_block_writer_new(&options, &w, &why));
    assert_ok(sf_profile_block_writer_begin(w, &t, &why));
    assert_ok(sf_profile_details_encode_row(w, d, n, &why));
    assert_ok(sf_profile_block_writer_end(w, &why));
    assert_ok(sf_profile_block_writer_finish(w, &len, NULL, &bytes, &why));
    sf_profile_block_writer_free(w);
    return bytes;
}

static void check_row(const char *name, const struct sf_profile_detail *want,
                      const struct sf_profile_detail *got)
{
    struct sf_profile_detail w = *want;
    w.start_ns = cut(w.start_ns);
    w.length_ns = cut(w.length_ns);
    if (w.start_ns != got->start_ns || w.length_ns != got->length_ns || w.value != got->value ||
        w.thread != got->thread || w.process != got->process || w.series != got->series ||
        w.node != got->node || w.state != got->state || w.has_time != got->has_time ||
        w.is_lent != got->is_lent || w.is_coarse != got->is_coarse || w.span_id != got->span_id ||
        !sf_trace_id_eq(w.trace_id, got->trace_id))
        fail_msg("%s: a row of thread %llu came back as another", name,
                 (unsigned long long)w.thread);
}

static void round_trip(const struct shape *s)
{
    struct sf_profile_detail *d = sf_heap_new_n(s->n, sizeof(*d));
    struct sf_profile_places places;
    struct sf_arena a, tmp;
    uint32_t n_seen = 0, n;
    assert_non_null(d);
    assert_true(sf_arena_init(&a, 64 << 20));
    fill(s, d);
    struct sf_buf bytes = write_block(d, s->n);
    struct sf_profile_block_reader *r;
    assert_ok(sf_profile_block_reader_open_memory(&bytes, &r, &why));
    assert_ok(sf_profile_tables_decode_places(r, 0, &a, &places, &why));
    for (uint32_t g = 0; g < places.n_granules; g++, n_seen += n) {
        const struct sf_profile_detail *got;
        struct sf_profile_columns c;
        tmp = a;
        assert_ok(sf_profile_samples_granule(r, 0, &places, g, &tmp, &got, &n, &why));
        assert_ok(sf_profile_samples_columns(r, 0, &places, g, NULL, &tmp, &c, &why));
        assert_true(n_seen + n <= s->n && c.n == n);
        for (uint32_t i = 0; i < n; i++) {
            check_row(s->name, &d[n_seen + i], &got[i]);
            assert_true(c.start_ns[i] == got[i].start_ns && c.value[i] == got[i].value &&
                        c.series[i] == got[i].series && c.node[i] == got[i].node &&
                        c.flags[i] >> 7 == got[i].is_lent);
        }
    }
    assert_int_equal(n_seen, s->n);
    sf_profile_block_reader_close(r);
    sf_arena_done(&a);
    sf_heap_free(d);
}

static const int64_t NOW_NS = INT64_C(1763200000123456789);

TEST(profile_rows, come_back_whatever_their_shape)
{
    const struct shape SHAPES[] = {
        {"one row", 1, 1, 1, 1, NOW_NS, 1, 1, true, false},
        {"one odd row", 1, 1, 1, 1, NOW_NS, 1, 1000, false, true},
        {"a full granule", SF_PROFILE_GRANULE_ROWS, 4, 1, 30, NOW_NS, 90000, 5000000, true, false},
        {"more than one", ROWS_MAX, 60, 2, 300, NOW_NS, 900000, 5000000, true, false},
        {"a thread for each", 4096, UINT32_MAX, 2, 30, NOW_NS, 900000, 5000000, true, false},
        {"no length", 3000, 3, 1, 30, NOW_NS, 10000000, 1, true, false},
        {"all at once", 3000, 3, 2, 1, NOW_NS, 1, 1000000, true, false},
        {"waits beside samples", 3000, 3, 2, 30, NOW_NS, 10000000, 90000000, true, false},
        {"eight series", 3000, 3, 8, 30, NOW_NS, 10000000, 90000000, true, false},
        {"more series than groups", 3000, 3, SERIES, 30, NOW_NS, 10000000, 90000000, true, false},
        {"many stacks", 4096, 3, 2, NODES, NOW_NS, 10000000, 90000000, true, false},
        {"anything", 4096, 9, 5, NODES, NOW_NS, 10000000, 90000000, true, true},
        {"the longest waits", 500, 3, 1, 30, NOW_NS, 1000, INT64_MAX, true, false},
        {"the first times", 500, 3, 2, 30, INT64_MIN, INT64_MAX / 600, INT64_MAX, true, false},
        {"the last times", 500, 3, 2, 30, INT64_MAX - 500000, 1000, INT64_MAX, true, true},
        {"around 1970", 500, 3, 2, 30, -90000, 1000, 3000, true, false},
    };
    for (size_t i = 0; i < sizeof(SHAPES) / sizeof(*SHAPES); i++)
        round_trip(&SHAPES[i]);
}

TEST(profile_rows, come_back_drawn_at_random)
{
    for (int i = 0; i < 150; i++) {
        struct shape s = {"random",
                          1 + (uint32_t)draw(i % 10 ? 300 : ROWS_MAX),
                          1 + (uint32_t)draw(50),
                          1 + (uint32_t)draw(draw(2) ? 3 : SERIES),
                          1 + (uint32_t)draw(draw(2) ? 20 : NODES),
                          NOW_NS - (int64_t)draw(INT64_MAX),
                          1 + (int64_t)draw(UINT64_C(1) << draw(40)),
                          1 + (int64_t)draw(UINT64_C(1) << draw(62)),
                          draw(2),
                          draw(3) == 0};
        round_trip(&s);
    }
}

/* ---- what a row takes ---- */

enum { WORKERS = 16, OF_WORKER = 1320 };
enum cost { SAMPLES, SERVED, AT_RANDOM };

/* As servers wait: a place has one state and its usual length. */
static void serve(struct sf_profile_detail *d)
{
    static const double median_ns[] = {8e3, 250e3, 1.2e6, 90e3, 1e6};
    static const double spread[] = {1.3, 0.6, 0.9, 0.8, 0.02};
    static const uint8_t states[] = {SF_STATE_LOCK, SF_STATE_NET, SF_STATE_NET, SF_STATE_DISK,
                                     SF_STATE_SLEEP};
    double rank = (double)(draw(1000000) + 1) / 1000001;
    double noise = 0; /* nearly normal */
    for (int i = 0; i < 12; i++)
        noise += (double)draw(1000000) / 1000000 - 0.5;
    d->node = (uint32_t)(60 * rank * rank * rank);
    d->state = states[d->node % 5];
    d->length_ns = (int64_t)(median_ns[d->node % 5] * (1 + d->node % 7) *
                             exp(spread[d->node % 5] * noise));
    d->length_ns -= d->length_ns % 1000; /* as the library sends them */
}

/* Rows of threads that serve requests, `per_span` of each span; returns what their ids take. */
static uint64_t fill_requests(enum cost cost, uint32_t per_span, uint32_t spans_per_trace,
                              struct sf_profile_detail *d)
{
    static const uint8_t states[] = {SF_STATE_LOCK, SF_STATE_DISK, SF_STATE_NET, SF_STATE_SLEEP};
    uint64_t span = 0, trace[2] = {0}, n_spans = 0, n_traces = 0;
    int64_t at = 0;
    for (uint32_t i = 0; i < WORKERS * OF_WORKER; i++) {
        if (i % OF_WORKER == 0)
            at = NOW_NS + (int64_t)draw(10000000);
        if (i % per_span == 0) {
            if (n_spans++ % spans_per_trace == 0) {
                trace[0] = draw(UINT64_MAX) << 20 ^ draw(UINT64_MAX);
                trace[1] = draw(UINT64_MAX) << 20 ^ draw(UINT64_MAX);
                n_traces++;
            }
            span = draw(UINT64_MAX) << 20 ^ draw(UINT64_MAX);
        }
        at += cost == SERVED ? 2000 + (int64_t)draw(300000) : 9850000 + (int64_t)draw(300000);
        d[i] = (struct sf_profile_detail){.span_id = span,
                                          .thread = 10000 + i / OF_WORKER,
                                          .start_ns = at,
                                          .value = 10000000,
                                          .node = (uint32_t)(draw(400) * draw(400) / 400),
                                          .has_time = true,
                                          .state = SF_STATE_RUNNING};
        memcpy(d[i].trace_id.b, trace, 16);
        if (cost == AT_RANDOM) {
            d[i].length_ns = (int64_t)(50000 * exp((double)draw(10000) / 10000 * log(1000)));
            d[i].state = states[draw(4)];
        }
        if (cost == SERVED)
            serve(&d[i]);
        d[i].value = cost == SAMPLES ? d[i].value : d[i].length_ns;
        at += d[i].length_ns;
    }
    return 8 * n_spans + 16 * n_traces;
}

static uint64_t bytes_of_rows(sf_bytes block)
{
    struct sf_block_tail tail;
    uint64_t sum = 0;
    assert_ok(sf_section_block_tail_decode(
        SF_BLOCK_OF_PROFILES, block.p + block.len - SF_BLOCK_TAIL_LEN, false, &tail, &why));
    for (uint64_t at = 0; at < tail.table_len; at += SF_SECTION_LEN) {
        struct sf_section s = sf_section_decode(block.p + tail.table_off + at);
        bool is_row = s.id == SF_PROFILE_DET || s.id == SF_PROFILE_STX || s.id == SF_PROFILE_THR;
        sum += is_row ? s.stored_len : 0;
    }
    return sum;
}

/* Hundredths of a byte for each row; ids, which are random, are counted or left out. */
static uint64_t cents_of_row(enum cost cost, uint32_t per_span, uint32_t spans_per_trace,
                             bool has_ids)
{
    struct sf_profile_detail *d = sf_heap_new_n((size_t)WORKERS * OF_WORKER, sizeof(*d));
    assert_non_null(d);
    uint64_t ids = fill_requests(cost, per_span, spans_per_trace, d);
    struct sf_buf bytes = write_block(d, WORKERS * OF_WORKER);
    uint64_t all = bytes_of_rows(sf_buf_bytes(&bytes));
    sf_buf_done(&bytes);
    sf_heap_free(d);
    assert_true(all > ids);
    return (all - (has_ids ? 0 : ids)) * 100 / (WORKERS * OF_WORKER);
}

TEST(profile_rows, take_at_most_six_bytes_of_a_wait_and_less_of_a_sample)
{
    assert_in_range(cents_of_row(SAMPLES, 11, 6, true), 100, 450);
    assert_in_range(cents_of_row(SERVED, 11, 6, true), 100, 600);
    assert_in_range(cents_of_row(SERVED, 2, 2, false), 100, 600);
    assert_in_range(cents_of_row(SERVED, 1, 1, false), 100, 600);
    assert_in_range(cents_of_row(AT_RANDOM, 11, 6, false), 100, 600);
}
