#include "store/local/write/seal.h"

#include "base/heap.h"
#include "base/time_unit.h"
#include "block/span/span_block_reader.h"
#include "os/clock.h"
#include "support/store_rig.h"
#include "test.h"

#define START_NS ((uint64_t)1763200000 * 1000000000)
enum { N = 40 };

static void put(struct store_rig *r, unsigned writer, uint64_t seed)
{
    struct sf_otlp_make m;
    struct sf_span_batch b;
    sf_otlp_make_init(&m, seed, START_NS);
    sf_otlp_make_batch(&m, N, &r->arena, &b);
    assert_ok(store_put(r, writer, 1, &b, 0));
}

static uint32_t count_searched(struct store_rig *r, int64_t begun_ns)
{
    struct sf_span_query query = {.columns = SF_COL_IDS | SF_COL_TIMES};
    struct sf_span_cursor *c;
    r->q.begun_ns = begun_ns;
    assert_ok(r->store->ops->span_scan(r->store, &query, &r->q, &c, &r->why));
    return store_drain(r, c).n;
}

static void open_with_threads(struct store_rig *r, int64_t gap_ns)
{
    store_rig_init(r);
    r->config.tuning = (struct sf_local_tuning){.segment_len = 1 << 20, .seal_gap_ns = gap_ns};
    assert_ok(store_rig_open(r));
}

/* A second search came within the gap and saw nothing of what had been acknowledged since the
 * first. */
TEST(seal, a_search_sees_all_that_was_acknowledged_however_soon_it_comes)
{
    const int64_t gap_ns = SF_NS_PER_S / 20;
    struct store_rig r;
    int64_t begun_ns;
    open_with_threads(&r, gap_ns);
    put(&r, 0, 1);
    assert_int_equal(count_searched(&r, 0), N);
    begun_ns = sf_clock_mono_ns();
    for (uint32_t i = 2; i < 6; i++) {
        put(&r, i % 2, i);
        assert_int_equal(count_searched(&r, 0), i * N);
    }
    /* They waited for their turn: parts of a few rows each would make searches slow. */
    assert_true(sf_clock_mono_ns() - begun_ns >= 3 * gap_ns);
    store_rig_done(&r);
}

/* Rows that could not be sealed are an error, not an answer without them. */
TEST(seal, a_search_without_memory_fails_and_loses_nothing)
{
    struct store_rig r;
    uint32_t n_failed = 0, n_puts = 0;
    store_rig_init(&r);
    assert_ok(store_rig_open(&r));
    for (uint64_t n = 1; n < 400; n += 5) {
        struct sf_span_query query = {.columns = SF_COL_IDS};
        struct sf_span_cursor *c = NULL;
        enum sf_err err;
        put(&r, 0, ++n_puts);
        sf_heap_fail_after(n);
        err = r.store->ops->span_scan(r.store, &query, &r.q, &c, &r.why);
        sf_heap_fail_after(0);
        n_failed += err != SF_OK;
        if (!err)
            c->close(c);
        else if (err != SF_ERR_NOMEM && err != SF_ERR_LIMIT && err != SF_ERR_BUSY)
            fail_msg("%s", r.why.text);
        if (n_puts % 8 == 0 || !err)
            assert_int_equal(count_searched(&r, 0), n_puts * N);
        if (!err)
            break;
    }
    assert_true(n_failed > 5);
    store_rig_done(&r);
}

/* The reads of one request need what had come when the request came, and do not wait again. */
TEST(seal, the_reads_of_one_request_wait_once)
{
    struct store_rig r;
    int64_t begun_ns;
    open_with_threads(&r, 60 * SF_NS_PER_S);
    put(&r, 0, 1);
    begun_ns = sf_clock_mono_ns();
    assert_int_equal(count_searched(&r, begun_ns), N);
    put(&r, 1, 2); /* comes later */
    for (int i = 0; i < 3; i++)
        assert_int_equal(count_searched(&r, begun_ns), N);
    /* A request that begins now waits for the next turn, and no longer than it may. */
    r.q.deadline_ns = sf_clock_mono_ns() + SF_NS_PER_S / 20;
    {
        struct sf_span_query query = {.columns = SF_COL_IDS};
        struct sf_span_cursor *c = NULL;
        r.q.begun_ns = sf_clock_mono_ns();
        assert_int_equal(r.store->ops->span_scan(r.store, &query, &r.q, &c, &r.why),
                         SF_ERR_DEADLINE);
    }
    store_rig_done(&r);
}

struct other {
    struct sf_memtable *m;
    struct sf_memtable_body *body;
    atomic_bool is_over;
};

static void give_back_later(void *arg)
{
    struct other *o = arg;
    sf_clock_sleep_ms(50);
    atomic_store(&o->is_over, true);
    sf_memtable_not_sealed(o->m, o->body);
}

/* A writer that filled its memtable seals it itself; its rows are nowhere to be searched before
 * that is done. Here it is slow, and then has no memory. */
TEST(seal, a_search_waits_for_rows_that_somebody_else_is_sealing)
{
    struct store_rig r;
    struct other o = {0};
    struct sf_thread thread;
    open_with_threads(&r, 1);
    put(&r, 0, 1);
    put(&r, 1, 2);
    o.m = &store_rig_local(&r)->memtables[0];
    o.body = sf_memtable_cut(o.m);
    assert_non_null(o.body);
    assert_ok(sf_thread_start(&thread, "other", 0, give_back_later, &o, &r.why));
    assert_int_equal(count_searched(&r, 0), 2 * N);
    assert_true(atomic_load(&o.is_over));
    sf_thread_join(&thread);
    store_rig_done(&r);
}

/* A flush merges parts and needs memory for each of their traces: half a million traces in small
 * parts took more than all rows. */
TEST(seal, a_part_counts_the_memory_that_merging_it_takes)
{
    struct store_rig r;
    struct sf_snapshot *s;
    size_t least = 0;
    open_with_threads(&r, 0);
    put(&r, 0, 1);
    assert_int_equal(count_searched(&r, 0), N);
    s = sf_snapshot_take(&store_rig_local(&r)->snapshots);
    assert_int_equal(s->n, 1);
    least = sf_span_block_reader_info(s->runs[0]->reader)->n_traces * SF_RUN_TRACE_LEN +
            s->runs[0]->row.len;
    assert_true(least > s->runs[0]->row.len);
    assert_true(sf_budget_used(&store_rig_local(&r)->budget, SF_LINE_PARTS) >= least);
    sf_snapshot_unref(s);
    store_rig_done(&r);
}
