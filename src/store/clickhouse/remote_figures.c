#include "store/clickhouse/remote_figures.h"

#include "base/time_unit.h"

void sf_remote_figures_say(const struct sf_remote_figures *f, sf_store_figure_fn say, void *arg)
{
    const struct sf_remote_counts c = f->ship;
    const struct sf_upkeep_counts upkeep = f->upkeep;
    static const char batches[] = "spanflame_ship_batches",
                      batches_help[] = "Batches for ClickHouse, by what became of them; a retry is "
                                       "an attempt that failed.";
    const struct sf_store_figure figures[] = {
        {"spanflame_ship_lag_seconds", "Age of the oldest record that is not in ClickHouse.",
         .val = (uint64_t)(c.lag_ns / SF_NS_PER_S)},
        {"spanflame_ship_spool_bytes", "Bytes of full log segments that wait for ClickHouse.",
         .val = c.spool_len},
        {"spanflame_ship_spool_max_bytes", "The most that may wait: store.remote.spool_max.",
         .val = c.spool_max_len},
        {batches, batches_help, true, "result", "sent", .val = c.n_batches},
        {batches, batches_help, true, "result", "retried", .val = c.n_retries},
        {batches, batches_help, true, "result", "refused", .val = c.n_refused},
        {"spanflame_ship_records_lost",
         "Records that were not in the log when they were to be sent.", .val = c.n_lost},
        {"spanflame_ship_records_skipped",
         "Records that could not be read when they were to be sent.", true, .val = c.n_skipped},
        {"spanflame_ship_shards", "Shards of ClickHouse.", .val = c.n_shards},
        {"spanflame_ship_shards_up", "Shards whose last request succeeded.", .val = c.n_up},
        {"spanflame_remote_round_trips",
         "Times that a read waited for shards; all shards are queried at once.", true,
         .val = f->n_rounds},
        {"spanflame_remote_grouped",
         "Metrics queries whose spans were counted by the shards instead of being read.", true,
         .val = f->n_grouped},
        {"spanflame_move_pieces",
         "Pieces of older blocks that are moved to ClickHouse; 0: no move was begun.",
         .val = f->move.n_pieces},
        {"spanflame_move_pieces_moved", "Those of them that are in ClickHouse.",
         .val = f->move.n_moved},
        {"spanflame_upkeep_lease", "1 on the node that maintains the data in ClickHouse.",
         .val = upkeep.has_lease},
        {"spanflame_upkeep_erasures_open",
         "Erasures that wait for nodes that have not shipped their logs yet.",
         .val = upkeep.n_erasures},
        {"spanflame_upkeep_failed", "Rounds of upkeep that failed.", true, .val = upkeep.n_failed},
        {"spanflame_upkeep_judged_parts_dropped",
         "Parts of samples in ClickHouse dropped after their hour was judged.", true,
         .val = upkeep.n_judged},
        {"spanflame_upkeep_partitions_dropped", "Partitions in ClickHouse dropped for their age.",
         true, .val = upkeep.n_dropped},
    };
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        say(arg, &figures[i]);
    for (size_t i = 0; i < SF_REMOTE_TABLES; i++)
        say(arg, &(struct sf_store_figure){"spanflame_ship_rows",
                                           "Rows sent to ClickHouse and confirmed, by table.", true,
                                           "table", sf_remote_table_name(i).p, .val = c.n_rows[i]});
}
