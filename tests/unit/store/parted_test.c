#include "store/local/read/parted.h"

#include "block/span/span_block_reader.h"
#include "support/store_rig.h"
#include "test.h"

static const uint64_t START_NS = UINT64_C(1763200000) * 1000000000;

static sf_trace_id trace_of(uint32_t i)
{
    sf_trace_id id = {{1}};
    memcpy(id.b + 8, &i, sizeof(i));
    return id;
}

/* One span for each trace of [from, to), in a block. */
static void put_traces(struct store_rig *r, uint32_t from, uint32_t to)
{
    enum { PER_BATCH = 5000 };
    static const struct sf_resource resource = {.service = SF_STR("unknown_service")};
    static const struct sf_scope scope;
    for (uint32_t end; from < to; from = end) {
        struct sf_span_batch batch = {&resource, &scope, NULL, 1, 1, 0};
        struct sf_span *spans = sf_arena_new_n(&r->arena, PER_BATCH, sizeof(*spans));
        end = to - from < PER_BATCH ? to : from + PER_BATCH;
        for (uint32_t i = from; i < end; i++)
            spans[batch.n_spans++] = (struct sf_span){.trace_id = trace_of(i),
                                                      .span_id = i + 1,
                                                      .start_ns = START_NS + i,
                                                      .end_ns = START_NS + i + 500,
                                                      .name = SF_STR("work")};
        batch.spans = spans;
        assert_ok(store_put(r, 0, 1, &batch, 0));
    }
    assert_ok(r->store->ops->flush(r->store, &r->why));
}

/* Is the trace marked in the run? It must be there. */
static bool is_marked(struct store_rig *r, const struct sf_snapshot *s, const struct sf_parted *p,
                      size_t run, uint32_t i)
{
    const struct sf_span_block_reader *reader;
    struct sf_trace_place place;
    bool is_found;
    assert_ok(sf_run_enter(s->runs[run], SF_TABLES_ROWS, &reader, &r->why));
    assert_ok(
        sf_filter_probe_find_trace(reader, 1, trace_of(i), r->arena, &is_found, &place, &r->why));
    sf_run_leave(s->runs[run]);
    assert_true(is_found);
    return sf_parted_has(p, run, place.trace);
}

/* Enough traces for several windows of hashes, and for several pages of each index. */
TEST(parted, find_the_traces_that_two_blocks_have_and_few_others)
{
    enum { ALL = 50000, FIRST_END = 30000, SECOND = 29000 };
    struct store_rig r;
    struct sf_snapshot *s;
    struct sf_parted p;
    uint32_t n_wrong = 0;
    store_rig_init(&r);
    assert_ok(store_rig_open(&r));
    put_traces(&r, 0, FIRST_END);
    put_traces(&r, SECOND, ALL);
    s = sf_snapshot_take(&store_rig_local(&r)->snapshots);
    assert_int_equal(s->n, 2);
    assert_ok(sf_parted_find(&p, s, 0, 0, &r.q, r.arena, &r.why));
    for (uint32_t i = 0; i < ALL; i += i >= SECOND && i < FIRST_END ? 1 : 7) {
        bool is_both = i >= SECOND && i < FIRST_END;
        if (is_both)
            assert_true(is_marked(&r, s, &p, 0, i) && is_marked(&r, s, &p, 1, i));
        else
            n_wrong += is_marked(&r, s, &p, i >= SECOND, i);
    }
    assert_true(n_wrong < 3); /* half a hash decides: wrong once in 10^5 */
    sf_parted_done(&p);
    sf_snapshot_unref(s);
    store_rig_done(&r);
}

TEST(parted, mark_nothing_in_a_single_block)
{
    struct store_rig r;
    struct sf_snapshot *s;
    struct sf_parted p;
    store_rig_init(&r);
    assert_ok(store_rig_open(&r));
    put_traces(&r, 0, 2000);
    s = sf_snapshot_take(&store_rig_local(&r)->snapshots);
    assert_ok(sf_parted_find(&p, s, 0, 0, &r.q, r.arena, &r.why));
    for (uint32_t i = 0; i < 2000; i++)
        assert_false(sf_parted_has(&p, 0, i));
    sf_parted_done(&p);
    sf_snapshot_unref(s);
    store_rig_done(&r);
}
