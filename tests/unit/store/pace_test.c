#include "store/local/read/pace.h"

#include "base/time_unit.h"
#include "os/clock.h"
#include "support/store_rig.h"
#include "test.h"

static const int64_t BEGAN_NS = 1000 * SF_NS_PER_S, DEADLINE_NS = 1030 * SF_NS_PER_S;

static bool is_hopeless(int64_t spent_s, uint64_t n_done, uint64_t n_all)
{
    struct sf_pace p = {BEGAN_NS, n_done, n_all};
    return sf_pace_is_hopeless(&p, BEGAN_NS + spent_s * SF_NS_PER_S, DEADLINE_NS);
}

TEST(pace, ends_what_would_take_many_times_as_long_as_it_may)
{
    assert_true(is_hopeless(8, 1, 100));
    assert_true(is_hopeless(15, 10, 100)); /* 135 s, and 15 are left */
}

TEST(pace, lets_go_on_what_may_still_end_in_time)
{
    assert_false(is_hopeless(8, 10, 100)); /* 72 s, and 22 are left: it may become faster */
    assert_false(is_hopeless(15, 50, 100));
    assert_false(is_hopeless(29, 99, 100));
    assert_false(is_hopeless(29, 100, 100));
}

TEST(pace, says_nothing_before_a_quarter_of_the_time_and_of_the_first_piece)
{
    assert_false(is_hopeless(7, 1, 1000000));
    assert_false(is_hopeless(20, 0, 1000000));
}

TEST(pace, knows_queries_without_a_deadline)
{
    struct sf_pace p = {BEGAN_NS, 1, 1000000};
    assert_false(sf_pace_is_hopeless(&p, DEADLINE_NS, 0));
}

TEST(pace, says_what_is_missing)
{
    struct sf_pace p = {BEGAN_NS, 1, 100};
    struct sf_why why;
    assert_int_equal(sf_pace_fail(&p, BEGAN_NS + 10 * SF_NS_PER_S, DEADLINE_NS, &why),
                     SF_ERR_DEADLINE);
    assert_string_equal(why.text, "query: would take too long; narrow the time range (it has read "
                                  "1.0% of the data, needs about 990 s more and has 20 s)");
}

/* ---- in a store whose granules take their time ---- */

enum { N_BLOCKS = 80, BLOCK_MS = 150, QUERY_MS = 3000 };

static struct store_rig rig;

static void fill(void)
{
    static const struct sf_resource resource = {.service = SF_STR("unknown_service")};
    static const struct sf_scope scope;
    store_rig_init(&rig);
    rig.config.tuning.compact_blocks = 10 * N_BLOCKS;
    assert_ok(store_rig_open(&rig));
    rig.tenant = 1;
    for (unsigned i = 0; i < N_BLOCKS; i++) {
        struct sf_span span = {.trace_id = {{1, (uint8_t)i}},
                               .span_id = i + 1u,
                               .start_ns = UINT64_C(1763200000000000000) + i,
                               .end_ns = UINT64_C(1763200000000000500) + i,
                               .name = SF_STR("work")};
        struct sf_span_batch one = {&resource, &scope, &span, 1, 1, 1};
        assert_ok(store_put(&rig, 0, 1, &one, 0));
        assert_ok(rig.store->ops->flush(rig.store, &rig.why));
    }
}

static unsigned n_judged;

static enum sf_err judge(__attribute__((unused)) void *arg, struct sf_span_columns *c,
                         uint8_t *hits, __attribute__((unused)) struct sf_why *why)
{
    int64_t end_ns = sf_clock_mono_ns() + BLOCK_MS * SF_NS_PER_MS;
    while (sf_clock_mono_ns() < end_ns) {
        /* works */
    }
    memset(hits, 0, c->n_traces);
    n_judged++;
    return SF_OK;
}

/* Until the deadline it would be 20 of them; all would take four times as long. */
TEST(pace, ends_a_search_that_has_found_nothing)
{
    static const struct sf_span_judge slow = {.judge = judge};
    struct sf_span_query query = {
        .judge = &slow, .has_whole_traces = true, .is_newest_first = true};
    struct sf_span_cursor *cursor;
    struct sf_span_rows rows;
    fill();
    n_judged = 0;
    assert_ok(rig.store->ops->span_scan(rig.store, &query, &rig.q, &cursor, &rig.why));
    rig.q.deadline_ns = sf_clock_mono_ns() + QUERY_MS * SF_NS_PER_MS;
    assert_false(cursor->next(cursor, &rows));
    assert_int_equal(cursor->err, SF_ERR_DEADLINE);
    assert_non_null(strstr(cursor->why.text, "too long; narrow the time range"));
    assert_in_range(n_judged, 0, 12);
    cursor->close(cursor);
    store_rig_done(&rig);
}

TEST(pace, ends_a_walk_over_all_rows)
{
    struct sf_span_query query = {.columns = SF_COL_IDS};
    struct sf_column_cursor *cursor;
    struct sf_span_columns *c;
    uint8_t hits[8];
    fill();
    n_judged = 0;
    assert_ok(rig.store->ops->span_columns(rig.store, &query, &rig.q, &cursor, &rig.why));
    rig.q.deadline_ns = sf_clock_mono_ns() + QUERY_MS * SF_NS_PER_MS;
    while ((c = cursor->next(cursor)))
        assert_ok(judge(NULL, c, hits, &rig.why));
    assert_int_equal(cursor->err, SF_ERR_DEADLINE);
    assert_in_range(n_judged, 0, 12);
    cursor->close(cursor);
    store_rig_done(&rig);
}
