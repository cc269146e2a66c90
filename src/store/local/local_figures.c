#include "store/local/local_figures.h"

#include <stdio.h>
#include <string.h>

#include "store/local/local.h"
#include "store/local/write/pressure.h"
#include "wal/wal.h"

static void count_runs(struct sf_local *l, uint8_t kind, struct sf_local_stats *out)
{
    struct sf_snapshot *s = sf_snapshot_take(sf_local_snapshots(l, kind));
    for (size_t i = 0; i < s->n; i++) {
        const struct sf_run *run = s->runs[i];
        unsigned level = run->row.level < 4 ? run->row.level : 3;
        if (out->oldest_ns == 0 || run->row.ts_min_ns < out->oldest_ns)
            out->oldest_ns = run->row.ts_min_ns;
        if (run->row.ts_max_ns > out->newest_ns)
            out->newest_ns = run->row.ts_max_ns;
        if (sf_run_is_part(run)) {
            out->n_parts++;
            out->parts_len += run->row.len;
            continue;
        }
        out->n_blocks[level]++;
        out->blocks_len[level] += run->row.len;
        if (kind == SF_BLOCK_SPANS)
            out->block_rows[level] += run->row.n_rows;
        else
            out->block_samples += run->row.n_rows;
        out->n_quarantined += atomic_load(&run->is_bad);
    }
    if (kind == SF_BLOCK_SPANS)
        out->n_tombstones = sf_tombstones_n(s->tombstones);
    sf_snapshot_unref(s);
}

void sf_local_figures_stats(struct sf_store *s, struct sf_local_stats *out)
{
    struct sf_local *l = (struct sf_local *)s;
    struct sf_wal_stats wal;
    bool is_brief;
    sf_wal_stats(l->wal, &wal);
    *out = (struct sf_local_stats){
        .n_spans_appended = atomic_load(&l->n_spans),
        .n_samples_appended = atomic_load(&l->n_samples),
        .n_profiles_appended = atomic_load(&l->n_profiles),
        .profiles_len = sf_budget_used(&l->budget, SF_LINE_PROFILES),
        .n_batches_appended = atomic_load(&l->n_batches),
        .n_duplicates = atomic_load(&l->n_duplicates),
        .wal_len = wal.len,
        .wal_synced_lsn = wal.synced_lsn,
        .n_syncs = wal.n_syncs,
        .sync_ns_sum = wal.sync_ns_sum,
        .sync_ns_max = wal.sync_ns_max,
        .queue_depth = wal.queue_depth,
        .n_replayed = atomic_load(&l->n_replayed),
        .n_lost_lsn = atomic_load(&l->n_lost_lsn),
        .is_log_missing = l->is_log_missing,
        .memtable_len = sf_budget_used(&l->budget, SF_LINE_MEMTABLES),
        .memory_len = sf_budget_sum(&l->budget) + sf_duplicates_len(l->duplicates),
        .memory_cap = sf_budget_cap(&l->budget),
        .disk_free_len = atomic_load(&l->disk_free_len),
        .pressure = sf_pressure_now(l, &is_brief),
    };
    memcpy(out->sync_buckets, wal.sync_buckets, sizeof(out->sync_buckets));
    sf_mutex_lock(&l->keep.lock);
    out->n_thinned = l->keep.n_thinned;
    out->n_verdicts = l->keep.n_heads;
    out->n_pins = l->keep.n_pins;
    sf_mutex_unlock(&l->keep.lock);
    sf_mutex_lock(&l->number_lock);
    out->ckpt_lsn = l->ckpt_lsn;
    sf_mutex_unlock(&l->number_lock);
    sf_pressure_reason(l, out->reason, sizeof(out->reason), &out->is_degraded);
    count_runs(l, SF_BLOCK_SPANS, out);
    count_runs(l, SF_BLOCK_PROFILES, out);
}

enum sf_err sf_local_figures_state(struct sf_store *s, struct sf_store_state *out,
                                   struct sf_why *why)
{
    struct sf_local_stats stats;
    (void)why;
    sf_local_figures_stats(s, &stats);
    *out = (struct sf_store_state){.pressure = stats.pressure,
                                   .is_degraded = stats.is_degraded,
                                   .kept_len = stats.profiles_len,
                                   .queue_depth = stats.queue_depth,
                                   .rows_len = stats.memtable_len,
                                   .memory_len = stats.memory_len,
                                   .memory_cap = stats.memory_cap,
                                   .oldest_ns = stats.oldest_ns};
    memcpy(out->reason, stats.reason, sizeof(out->reason));
    for (size_t i = 0; i < 4; i++) {
        out->n_blocks += stats.n_blocks[i];
        out->kept_len += stats.blocks_len[i];
    }
    return SF_OK;
}

/* ---- for /metrics ---- */

static void say_log_sync(const struct sf_local_stats *st, sf_store_figure_fn say, void *arg)
{
    double bounds[15];
    for (size_t i = 0; i < 15; i++)
        bounds[i] = 62.5e-6 * (double)(1u << i);
    say(arg, &(struct sf_store_figure){.name = "spanflame_log_sync_seconds",
                                       .help = "Time one sync of the log took.",
                                       .bounds = bounds,
                                       .buckets = st->sync_buckets,
                                       .n_bounds = 15,
                                       .sum_s = (double)st->sync_ns_sum / 1e9});
}

static void say_levels(sf_store_figure_fn say, void *arg, const char *name, const char *help,
                       const uint64_t vals[4])
{
    static const char *const levels[] = {"0", "1", "2", "3"};
    for (size_t i = 0; i < 4; i++)
        say(arg, &(struct sf_store_figure){.name = name,
                                           .help = help,
                                           .label = "level",
                                           .label_val = levels[i],
                                           .val = vals[i]});
}

void sf_local_figures(struct sf_store *s, sf_store_figure_fn say, void *arg)
{
    struct sf_local_stats st;
    sf_local_figures_stats(s, &st);
    const struct sf_store_figure after_blocks[] = {
        {"spanflame_parts", "Parts in memory.", .val = st.n_parts},
        {"spanflame_spans_appended", "Spans the store took.", true, .val = st.n_spans_appended},
        {"spanflame_batches_appended", "Batches the store took.", true,
         .val = st.n_batches_appended},
        {"spanflame_batches_duplicate", "Batches recognised as sent before.", true,
         .val = st.n_duplicates},
        {"spanflame_blocks_quarantined", "Damaged blocks set aside.", .val = st.n_quarantined},
        {"spanflame_log_replayed_batches", "Batches read back from the log at start.",
         .val = st.n_replayed},
        {"spanflame_log_lost_records", "Log records that were missing at start.",
         .val = st.n_lost_lsn},
        {"spanflame_log_missing",
         "1: the newest part of the log was missing at start; the number of its records is "
         "unknown.",
         .val = st.is_log_missing},
        {"spanflame_tombstones", "Erasures not yet worked into blocks.", .val = st.n_tombstones},
        {"spanflame_samples_thinned",
         "Samples of single requests that were removed by outcome; totals have them.", true,
         .val = st.n_thinned},
        {"spanflame_hours_judged",
         "Verdicts on hours of tenants: which requests keep their samples.", .val = st.n_verdicts},
        {"spanflame_pins", "Traces that are pinned.", .val = st.n_pins},
        {"spanflame_disk_free_bytes", "Free space where the data is.", .val = st.disk_free_len},
        {"spanflame_pressure", "State of new writes: 0 accepted, 1 slowed down, 2 refused.",
         .val = st.pressure == SF_PRESSURE_REFUSE ? 2
                : st.pressure                     ? 1
                                                  : 0},
    };
    say_log_sync(&st, say, arg);
    say(arg,
        &(struct sf_store_figure){"spanflame_log_bytes", "Bytes of the log.", .val = st.wal_len});
    say_levels(say, arg, "spanflame_blocks", "Blocks, by level.", st.n_blocks);
    say_levels(say, arg, "spanflame_block_bytes", "Bytes of blocks, by level.", st.blocks_len);
    say_levels(say, arg, "spanflame_block_rows", "Rows in blocks, by level.", st.block_rows);
    for (size_t i = 0; i < sizeof(after_blocks) / sizeof(after_blocks[0]); i++)
        say(arg, &after_blocks[i]);
}
