#include "store/local/write/rows_flush.h"

#include "base/heap.h"
#include "base/time_unit.h"
#include "support/store_rig.h"
#include "test.h"

#define START_NS ((uint64_t)1763200000 * 1000000000)
enum { N = 120 };

static int64_t wall_ns(void)
{
    return (int64_t)START_NS + 5 * SF_NS_PER_S;
}

static void open_rig(struct store_rig *r)
{
    store_rig_init(r);
    r->config.tuning.wall_ns = wall_ns;
    assert_ok(store_rig_open(r));
}

/* One trace whose spans come by both writers in turn, as they do from two services. */
static sf_trace_id put_one_trace(struct store_rig *r)
{
    struct sf_otlp_make m;
    sf_trace_id id = {{7}};
    sf_otlp_make_init(&m, 3, START_NS);
    for (unsigned k = 0; k < 4; k++) {
        struct sf_span_batch b;
        struct sf_span *spans;
        sf_otlp_make_batch(&m, N / 4, &r->arena, &b);
        spans = sf_arena_new_n(&r->arena, b.n_spans, sizeof(*spans));
        for (uint32_t i = 0; i < b.n_spans; i++) {
            spans[i] = b.spans[i];
            spans[i].trace_id = id;
        }
        b.spans = spans;
        assert_ok(store_put(r, k % 2, 1, &b, 0));
    }
    return id;
}

static uint32_t count_searched(struct store_rig *r)
{
    struct sf_span_query query = {.columns = SF_COL_IDS | SF_COL_TIMES};
    struct sf_span_cursor *c;
    assert_ok(r->store->ops->span_scan(r->store, &query, &r->q, &c, &r->why));
    return store_drain(r, c).n;
}

static struct sf_local_stats stats_of(struct store_rig *r)
{
    struct sf_local_stats s;
    sf_local_figures_stats(r->store, &s);
    return s;
}

TEST(rows_flush, makes_one_block_of_all_memtables_and_no_part)
{
    struct store_rig r;
    sf_trace_id id;
    open_rig(&r);
    id = put_one_trace(&r);
    assert_ok(r.store->ops->flush(r.store, &r.why));
    assert_int_equal(stats_of(&r).n_blocks[0], 1);
    assert_int_equal(sf_budget_most(&store_rig_local(&r)->budget, SF_LINE_PARTS), 0);
    assert_int_equal(sf_budget_used(&store_rig_local(&r)->budget, SF_LINE_MEMTABLES), 0);
    assert_int_equal(store_trace(&r, 1, id).n, N);
    assert_int_equal(count_searched(&r), N);
    store_rig_close(&r);
    assert_ok(store_rig_open(&r));
    assert_int_equal(store_trace(&r, 1, id).n, N);
    assert_int_equal(count_searched(&r), N);
    store_rig_done(&r);
}

TEST(rows_flush, merges_when_somebody_searched_before)
{
    struct store_rig r;
    sf_trace_id id;
    open_rig(&r);
    id = put_one_trace(&r);
    assert_int_equal(count_searched(&r), N);
    assert_true(sf_budget_used(&store_rig_local(&r)->budget, SF_LINE_PARTS) > 0);
    assert_ok(r.store->ops->flush(r.store, &r.why));
    assert_int_equal(stats_of(&r).n_blocks[0], 1);
    assert_int_equal(sf_budget_used(&store_rig_local(&r)->budget, SF_LINE_PARTS), 0);
    assert_int_equal(count_searched(&r), N);
    assert_int_equal(store_trace(&r, 1, id).n, N);
    store_rig_done(&r);
}

/* As a flush goes, with somebody who searches in the middle of it. */
static void search_while_flushing(struct store_rig *r, bool is_shown)
{
    struct sf_local *l = store_rig_local(r);
    struct sf_rows_flush f;
    struct sf_run *parts[8];
    for (unsigned i = 0; i < l->n_memtables; i++)
        sf_memtable_not_sealed(&l->memtables[i], sf_memtable_cut(&l->memtables[i]));
    assert_ok(sf_rows_flush_take(l, l->gen, &f, &r->why));
    assert_int_equal(f.n, 2);
    assert_true(sf_rows_flush_is_one_block(l, &f));
    assert_int_equal(count_searched(r), N);
    assert_int_equal(count_searched(r), N); /* nothing is sealed twice */
    if (is_shown) {
        struct sf_snapshot_change change = {.out = parts};
        change.n_out = sf_rows_flush_hold(&f, parts);
        assert_int_equal(change.n_out, 2);
        assert_ok(sf_snapshot_change(&l->snapshots, &change, &r->why));
    }
    sf_rows_flush_end(&f, is_shown);
    assert_null(l->memtables[0].cut);
    assert_null(l->memtables[1].cut);
}

TEST(rows_flush, lets_go_of_parts_that_were_made_meanwhile)
{
    struct store_rig r;
    open_rig(&r);
    put_one_trace(&r);
    search_while_flushing(&r, true); /* the block itself is left out, so nothing is there after */
    assert_int_equal(count_searched(&r), 0);
    assert_int_equal(sf_budget_used(&store_rig_local(&r)->budget, SF_LINE_PARTS), 0);
    store_rig_done(&r);
}

TEST(rows_flush, keeps_parts_when_no_block_came_of_it)
{
    struct store_rig r;
    sf_trace_id id;
    open_rig(&r);
    id = put_one_trace(&r);
    search_while_flushing(&r, false);
    assert_int_equal(count_searched(&r), N);
    assert_ok(r.store->ops->flush(r.store, &r.why));
    assert_int_equal(count_searched(&r), N);
    assert_int_equal(store_trace(&r, 1, id).n, N);
    store_rig_done(&r);
}

/* Whichever allocation fails: a flush that did not write its block has not moved the checkpoint. */
TEST(rows_flush, loses_nothing_for_want_of_memory)
{
    unsigned n_failed = 0;
    for (uint64_t n = 1; n < 2000; n += 3) {
        struct store_rig r;
        sf_trace_id id;
        enum sf_err err;
        open_rig(&r);
        id = put_one_trace(&r);
        sf_heap_fail_after(n);
        err = r.store->ops->flush(r.store, &r.why);
        sf_heap_fail_after(0);
        assert_int_equal(store_trace(&r, 1, id).n, N);
        store_rig_close(&r);
        assert_ok(store_rig_open(&r));
        assert_int_equal(store_trace(&r, 1, id).n, N);
        assert_int_equal(count_searched(&r), N);
        store_rig_done(&r);
        n_failed += err != SF_OK;
        if (!err)
            break;
    }
    assert_true(n_failed > 5);
}

static void put_and_die(struct store_rig *r)
{
    if (store_rig_open(r))
        abort();
    (void)put_one_trace(r);
}

/* A start that replays the log has all of it, or fails and reports it. */
TEST(rows_flush, a_start_loses_nothing_for_want_of_memory)
{
    unsigned n_failed = 0;
    sf_trace_id id = {{7}};
    struct store_rig r;
    store_rig_init(&r);
    r.config.tuning.wall_ns = wall_ns;
    store_in_crashing_process(&r, put_and_die);
    for (uint64_t n = 1; n < 4000; n += 7) {
        enum sf_err err;
        sf_heap_fail_after(n);
        err = store_rig_open(&r);
        sf_heap_fail_after(0);
        n_failed += err != SF_OK;
        if (err)
            continue;
        assert_int_equal(store_trace(&r, 1, id).n, N);
        break;
    }
    assert_true(n_failed > 5);
    store_rig_done(&r);
}

TEST(rows_flush, splits_by_day_like_any_flush)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_span_batch b;
    open_rig(&r);
    for (unsigned k = 0; k < 2; k++) { /* the same writer, two days */
        sf_otlp_make_init(&m, 3 + k, START_NS - k * (uint64_t)SF_NS_PER_DAY);
        sf_otlp_make_batch(&m, N / 2, &r.arena, &b);
        assert_ok(store_put(&r, 0, 1, &b, 0));
    }
    assert_ok(r.store->ops->flush(r.store, &r.why));
    assert_int_equal(stats_of(&r).n_blocks[0], 2);
    assert_int_equal(count_searched(&r), N);
    store_rig_done(&r);
}

/* Rows that were reverted leave bits behind, and rows that went with a flush none. */
TEST(rows_flush, knows_which_memtables_a_trace_cannot_be_in)
{
    struct store_rig r;
    struct sf_memtable *m;
    sf_trace_id id;
    uint64_t hash;
    unsigned n_maybe = 0;
    open_rig(&r);
    id = put_one_trace(&r);
    hash = sf_trace_id_hash(id, 1);
    m = store_rig_local(&r)->memtables;
    assert_true(sf_memtable_body_may_have(m[0].active, hash) &&
                sf_memtable_body_may_have(m[1].active, hash));
    for (uint64_t i = 1; i <= 1000; i++)
        n_maybe += sf_memtable_body_may_have(m[0].active, i * 0x9e3779b97f4a7c15u);
    assert_true(n_maybe < 10);
    assert_int_equal(store_trace(&r, 1, id).n, N);
    assert_ok(r.store->ops->flush(r.store, &r.why));
    for (unsigned k = 0; k < 2; k++) {
        for (struct sf_memtable_body *b = m[k].spare; b; b = b->next)
            assert_false(sf_memtable_body_may_have(b, hash));
    }
    assert_int_equal(store_trace(&r, 1, id).n, N);
    store_rig_done(&r);
}
