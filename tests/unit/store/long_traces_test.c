#include "store/local/read/long_traces.h"

#include "store/local/snapshot.h"
#include "support/store_rig.h"

#include "test.h"

/* After a start the compact thread compares all blocks; a query that comes meanwhile is answered.
 */
TEST(long_traces, is_not_waited_for_when_it_takes_long)
{
    struct store_rig r;
    struct sf_otlp_make m;
    struct sf_span_batch b;
    struct sf_snapshot *s;
    bool is_known = true;
    store_rig_init(&r);
    r.config.tuning.compare_rows = 1;
    sf_otlp_make_init(&m, 1, UINT64_C(1763200800) * 1000000000);
    assert_ok(store_rig_open(&r));
    sf_otlp_make_batch(&m, 100, &r.arena, &b);
    assert_ok(store_put(&r, 0, 1, &b, 0));
    assert_ok(r.store->ops->flush(r.store, &r.why));
    s = sf_snapshot_take(&store_rig_local(&r)->snapshots);
    store_rig_local(&r)->long_traces.is_working = true; /* as if another thread were at it */
    r.q.deadline_ns = 1;                                /* waiting would fail */
    assert_ok(sf_long_traces_for_query(store_rig_local(&r), s, &r.q, &is_known, &r.why));
    assert_false(is_known);
    store_rig_local(&r)->long_traces.is_working = false;
    sf_snapshot_unref(s);
    store_rig_done(&r);
}
