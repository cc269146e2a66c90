#include "store/clickhouse/shard_absence.h"

#include "test.h"

TEST(shard_absence, leaves_a_shard_out_until_it_answers_a_probe)
{
    struct sf_shard_absence a;
    sf_shard_absence_init(&a);
    assert_true(!sf_shard_absence_is_away(&a, 1));
    assert_true(!sf_shard_absence_begin_probe(&a, 1));
    sf_shard_absence_note(&a, 1, SF_SHARD_PROBE_NS);
    assert_true(sf_shard_absence_is_away(&a, 1));
    assert_true(!sf_shard_absence_is_away(&a, 0));
    assert_true(!sf_shard_absence_begin_probe(&a, 1)); /* not in the same request */
    a.shards[1].probe_ns = 0;
    assert_true(sf_shard_absence_begin_probe(&a, 1));
    assert_true(!sf_shard_absence_begin_probe(&a, 1)); /* one probe at a time */
    sf_shard_absence_end_probe(&a, 1, false);
    assert_true(sf_shard_absence_is_away(&a, 1));
    assert_true(!sf_shard_absence_begin_probe(&a, 1));
    sf_shard_absence_end_probe(&a, 1, true);
    assert_true(!sf_shard_absence_is_away(&a, 1));
    sf_shard_absence_done(&a);
}

TEST(shard_absence, ignores_queries_that_had_less_time_than_a_probe)
{
    struct sf_shard_absence a;
    sf_shard_absence_init(&a);
    sf_shard_absence_note(&a, 0, SF_SHARD_PROBE_NS - 1);
    assert_true(!sf_shard_absence_is_away(&a, 0));
    sf_shard_absence_note(&a, 0, 0); /* the configured timeout */
    assert_true(sf_shard_absence_is_away(&a, 0));
    sf_shard_absence_done(&a);
}
