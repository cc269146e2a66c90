#include "store/local/write/pressure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "wal/wal.h"

static const uint64_t MIN_FREE_LEN = UINT64_C(2) << 30;

static void pressure_say(struct sf_local *l, const char *reason)
{
    sf_mutex_lock(&l->state_lock);
    snprintf(l->refuse_reason, sizeof(l->refuse_reason), "%s", reason);
    sf_mutex_unlock(&l->state_lock);
}

static uint32_t count_level0(struct sf_local *l)
{
    static const uint8_t kinds[] = {SF_BLOCK_SPANS, SF_BLOCK_PROFILES};
    uint32_t most = 0;
    for (size_t k = 0; k < 2; k++) {
        struct sf_snapshot *s = sf_snapshot_take(sf_local_snapshots(l, kinds[k]));
        uint32_t n = 0;
        for (size_t i = 0; i < s->n; i++) {
            if (!sf_run_is_part(s->runs[i]) && s->runs[i]->row.level == 0)
                n++;
        }
        sf_snapshot_unref(s);
        most = n > most ? n : most;
    }
    return most;
}

static enum sf_pressure inspect_disk(struct sf_local *l, char *reason, size_t len)
{
    uint64_t free_len, all_len, min_len;
    enum sf_pressure level;
    if (sf_dir_free_len(l->dir, &free_len, &all_len, NULL))
        return SF_PRESSURE_NONE;
    atomic_store(&l->disk_free_len, free_len);
    sf_mutex_lock(&l->rule_lock);
    min_len = l->retention.min_free_len;
    sf_mutex_unlock(&l->rule_lock);
    if (min_len == 0) /* a small disk must keep a twentieth free, a large one at least 2 GB */
        min_len = all_len / 20 > MIN_FREE_LEN ? all_len / 20 : MIN_FREE_LEN;
    level = sf_pressure_of_free(free_len, min_len);
    if (level == SF_PRESSURE_REFUSE)
        snprintf(reason, len,
                 "disk is nearly full: %" PRIu64 " MB free, %" PRIu64 " MB must stay free",
                 free_len >> 20, min_len >> 20);
    return level;
}

unsigned sf_pressure_rows(const struct sf_local *l)
{
    const struct sf_budget *b = &l->budget;
    size_t parts = sf_budget_used(b, SF_LINE_PARTS);
    size_t all = sf_budget_used(b, SF_LINE_MEMTABLES) + parts;
    size_t cap = b->cap[SF_LINE_PARTS], all_cap = b->cap[SF_LINE_MEMTABLES] + cap;
    unsigned of_parts = (unsigned)((parts * 8 + cap - 1) / (cap ? cap : 1));
    unsigned of_all = (unsigned)((all * 8 + all_cap - 1) / (all_cap ? all_cap : 1));
    return of_parts > of_all ? of_parts : of_all;
}

void sf_pressure_update(struct sf_local *l)
{
    char reason[160] = "";
    uint32_t n_level0 = count_level0(l);
    enum sf_pressure level = inspect_disk(l, reason, sizeof(reason)), blocks;
    bool is_short = level == SF_PRESSURE_REFUSE;

    atomic_store(&l->is_disk_full, is_short);
    if (!is_short && atomic_load(&l->is_flush_failing))
        return; /* that state has its own message */
    blocks = sf_pressure_of_blocks(n_level0, l->tune.slow_blocks, l->tune.refuse_blocks);
    if (!is_short && blocks == SF_PRESSURE_REFUSE)
        snprintf(reason, sizeof(reason), "compaction is behind: %u blocks wait", n_level0);
    level = sf_pressure_max(level, blocks);
    atomic_store(&l->pressure, level);
    pressure_say(l, reason);
    if (is_short)
        sf_local_wake_compact(l); /* retention by size may free space */
}

void sf_pressure_flushed(struct sf_local *l, enum sf_err err, const struct sf_why *why)
{
    bool was_failing = atomic_exchange(&l->is_flush_failing, err != SF_OK);
    if (err) {
        char reason[160];
        snprintf(reason, sizeof(reason), "blocks cannot be written: %.120s", why->text);
        pressure_say(l, reason);
        atomic_store(&l->pressure, SF_PRESSURE_REFUSE);
        if (!was_failing)
            sf_local_notice(l, "store: %s", reason);
    } else if (was_failing) {
        sf_local_notice(l, "store: blocks can be written again");
        sf_pressure_update(l);
    }
}

void sf_pressure_compacted(struct sf_local *l, enum sf_err err, const struct sf_why *why)
{
    bool was_failing;
    char reason[160] = "";
    if (err == SF_ERR_BUSY || err == SF_ERR_CANCELLED)
        return; /* these errors are temporary */
    if (err)
        snprintf(reason, sizeof(reason), "blocks cannot be merged or removed: %.110s", why->text);
    sf_mutex_lock(&l->state_lock);
    was_failing = l->merge_reason[0] != 0;
    memcpy(l->merge_reason, reason, sizeof(reason));
    sf_mutex_unlock(&l->state_lock);
    if (err && !was_failing) /* a repeated fault is not reported again */
        sf_local_notice(l, "store: %s", reason);
    else if (!err && was_failing)
        sf_local_notice(l, "store: blocks can be merged and removed again");
}

/* Memory lines that fill up between two checks of the disk. Profiles have their own line, which is
 * no reason to refuse spans. A full queue of the log counts like full memory of rows. */
static enum sf_pressure inspect_memory(const struct sf_local *l, const struct sf_wal_stats *wal)
{
    const struct sf_budget *b = &l->budget;
    size_t parts = sf_budget_used(b, SF_LINE_PARTS);
    size_t rows = parts + sf_budget_used(b, SF_LINE_MEMTABLES);
    enum sf_pressure of_rows = sf_pressure_max(
        sf_pressure_of_fill(parts, b->cap[SF_LINE_PARTS]),
        sf_pressure_of_fill(rows, b->cap[SF_LINE_PARTS] + b->cap[SF_LINE_MEMTABLES]));
    enum sf_pressure of_profiles = sf_pressure_of_fill(sf_budget_used(b, SF_LINE_PROFILES),
                                                       b->cap[SF_LINE_PROFILES]);
    enum sf_pressure of_log = sf_pressure_of_fill(wal->queue_len, b->log_len);
    return sf_pressure_max(sf_pressure_max(of_rows, of_log),
                           sf_pressure_min(of_profiles, SF_PRESSURE_PROFILES));
}

enum sf_pressure sf_pressure_now(struct sf_local *l, bool *out_is_brief)
{
    struct sf_wal_stats wal;
    enum sf_pressure own = (enum sf_pressure)atomic_load(&l->pressure), memory;
    *out_is_brief = false;
    if (own == SF_PRESSURE_REFUSE)
        return own;
    sf_wal_stats(l->wal, &wal);
    if (wal.is_failed)
        return SF_PRESSURE_REFUSE;
    memory = inspect_memory(l, &wal);
    *out_is_brief = memory > own;
    return sf_pressure_max(own, memory);
}

void sf_pressure_reason(struct sf_local *l, char *out, size_t len, bool *out_is_degraded)
{
    struct sf_wal_stats wal;
    sf_wal_stats(l->wal, &wal);
    sf_mutex_lock(&l->state_lock);
    *out_is_degraded = l->degraded_reason[0] != 0 || l->merge_reason[0] != 0 ||
                       atomic_load(&l->runs.n_bad) > 0;
    if (l->refuse_reason[0])
        snprintf(out, len, "%s", l->refuse_reason);
    else if (wal.is_failed)
        snprintf(out, len, "the log cannot be written: %.120s", wal.reason);
    else if (l->merge_reason[0])
        snprintf(out, len, "%s", l->merge_reason);
    else if (l->degraded_reason[0])
        snprintf(out, len, "%s", l->degraded_reason);
    else if (atomic_load(&l->runs.n_bad))
        snprintf(out, len, "%" PRIuFAST64 " damaged blocks are quarantined",
                 atomic_load(&l->runs.n_bad));
    else
        out[0] = 0;
    sf_mutex_unlock(&l->state_lock);
}
