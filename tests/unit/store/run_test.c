#include "test.h"

#include "block/span/span_block_reader.h"
#include "store/local/snapshot.h"
#include "support/store_rig.h"

static const uint64_t START_NS = UINT64_C(1763200800) * 1000000000; /* a full hour */
enum { BLOCKS = 12, PER_BLOCK = 300 };

/* Blocks that nothing merges, closed. */
static struct sf_snapshot *open_blocks(struct store_rig *r, struct sf_otlp_make *m)
{
    struct sf_budget usual;
    store_rig_init(r);
    r->config.tuning.compact_blocks = 1u << 30;
    r->config.tuning.closed_delay_ns = INT64_MAX / 4; /* no hour ever closes */
    sf_otlp_make_init(m, 1, START_NS);
    assert_ok(store_rig_open(r));
    for (int i = 0; i < BLOCKS; i++) {
        struct sf_span_batch b;
        sf_otlp_make_batch(m, PER_BLOCK, &r->arena, &b);
        assert_ok(store_put(r, 0, 1, &b, 0));
        assert_ok(r->store->ops->flush(r->store, &r->why));
    }
    store_rig_close(r);
    r->config.memory_len = 1 << 16; /* no reader stays open after the start */
    assert_ok(store_rig_open(r));
    sf_budget_init(&usual, 0);
    for (int i = 0; i < SF_LINES; i++)
        store_rig_local(r)->budget.cap[i] = usual.cap[i];
    return sf_snapshot_take(&store_rig_local(r)->snapshots);
}

static void use(struct sf_run *run, unsigned tables)
{
    const struct sf_span_block_reader *reader;
    assert_ok(sf_run_enter(run, tables, &reader, NULL));
    sf_run_leave(run);
}

static uint64_t loads(struct store_rig *r)
{
    return store_rig_local(r)->runs.n_loads;
}

/* Room for so many blocks with the tables of their rows, beside the summaries of all; all but the
 * first are closed. */
static void leave_room_for(struct store_rig *r, struct sf_snapshot *s, unsigned n)
{
    struct sf_budget *b = &store_rig_local(r)->budget;
    size_t one, summaries;
    for (size_t i = 0; i < s->n; i++)
        use(s->runs[i], SF_TABLES_ROWS);
    b->cap[SF_LINE_READERS] = 0;
    use(s->runs[1], SF_TABLES_ALL); /* closes all */
    use(s->runs[0], SF_TABLES_ROWS);
    summaries = atomic_load(&store_rig_local(r)->runs.summaries_len);
    assert_true(summaries > 0);
    one = sf_budget_used(b, SF_LINE_READERS) - summaries;
    b->cap[SF_LINE_READERS] = summaries + one * n + one / 2;
}

TEST(run, decodes_only_the_tables_asked_for)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_snapshot *s = open_blocks(&r, &m);
    struct sf_budget *b = &store_rig_local(&r)->budget;
    size_t used[4];
    assert_int_equal(s->n, BLOCKS);
    leave_room_for(&r, s, BLOCKS);
    for (int i = 0; i < 4; i++) {
        static const unsigned TABLES[] = {SF_TABLES_NONE, SF_TABLES_NAMES, SF_TABLES_OPERATIONS,
                                          SF_TABLES_ALL};
        uint64_t before = loads(&r);
        use(s->runs[1], TABLES[i]);
        use(s->runs[1], TABLES[i]);
        assert_int_equal(loads(&r) - before, i != 0); /* once, and none for the frame */
        used[i] = sf_budget_used(b, SF_LINE_READERS);
        assert_true(i == 0 || used[i] > used[i - 1]);
    }
    sf_snapshot_unref(s);
    store_rig_done(&r);
}

TEST(run, looks_for_a_trace_without_tables)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_snapshot *s = open_blocks(&r, &m);
    uint64_t before;
    leave_room_for(&r, s, BLOCKS);
    before = loads(&r);
    assert_int_equal(store_trace(&r, 1, (sf_trace_id){{9, 9, 9}}).n, 0);
    assert_int_equal(loads(&r), before);
    sf_snapshot_unref(s);
    store_rig_done(&r);
}

/* What all blocks are read for, again and again, finds those open that there is space for. */
TEST(run, keeps_a_part_open_when_all_are_read_in_turn)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_snapshot *s = open_blocks(&r, &m);
    uint64_t before = 0;
    leave_room_for(&r, s, BLOCKS * 2 / 3);
    for (int round = 0; round < 20; round++) {
        before = loads(&r);
        for (size_t i = 0; i < s->n; i++)
            use(s->runs[i], SF_TABLES_ROWS);
    }
    assert_in_range(loads(&r) - before, 1, BLOCKS / 2);
    sf_snapshot_unref(s);
    store_rig_done(&r);
}

/* One that reads everything once does not close the two that are always asked. */
TEST(run, keeps_what_is_used_often_through_a_scan)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_snapshot *s = open_blocks(&r, &m);
    uint64_t before;
    leave_room_for(&r, s, 6);
    for (int round = 0; round < 8; round++) {
        use(s->runs[3], SF_TABLES_ROWS);
        use(s->runs[7], SF_TABLES_ROWS);
    }
    for (size_t i = 0; i < s->n; i++)
        use(s->runs[i], SF_TABLES_ROWS);
    before = loads(&r);
    use(s->runs[3], SF_TABLES_ROWS);
    use(s->runs[7], SF_TABLES_ROWS);
    assert_int_equal(loads(&r), before);
    sf_snapshot_unref(s);
    store_rig_done(&r);
}

/* And what nobody requests any more goes at last, however often it was queried for before. */
TEST(run, forgets_what_was_used_long_ago)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_snapshot *s = open_blocks(&r, &m);
    uint64_t before;
    leave_room_for(&r, s, 4);
    for (int round = 0; round < 100; round++) {
        for (size_t i = 0; i < 4; i++)
            use(s->runs[i], SF_TABLES_ROWS);
    }
    for (int round = 0; round < 8000; round++) {
        for (size_t i = 4; i < 8; i++)
            use(s->runs[i], SF_TABLES_ROWS);
    }
    before = loads(&r);
    for (size_t i = 4; i < 8; i++)
        use(s->runs[i], SF_TABLES_ROWS);
    assert_in_range(loads(&r) - before, 0, 1);
    sf_snapshot_unref(s);
    store_rig_done(&r);
}
