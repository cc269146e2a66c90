/* flush.c - flushes memory to blocks on the flush thread. Steps: start a new generation, collect
 * the rows and parts of the old ones, write blocks (directly, or by merging parts), commit them
 * with the new checkpoint in one catalogue transaction, publish the snapshot, free the log. */
#include "store/local/write/flush.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/heap.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "store/local/profiles/profile_flush.h"
#include "store/local/write/merge.h"
#include "store/local/write/pressure.h"
#include "store/local/write/rows_flush.h"
#include "store/local/write/seal.h"
#include "wal/wal.h"

enum { TICK_MS = 100 };
static const int64_t FIRST_DELAY_NS = SF_NS_PER_S / 2, MAX_DELAY_NS = 5 * SF_NS_PER_S;

/* Ends the generation: every LSN up to `*out_lsn` is then in a part or in a body that was cut. */
static uint64_t switch_generation(struct sf_local *l, uint64_t *out_lsn, uint64_t **out_dups,
                                  size_t *out_n_dups)
{
    uint64_t gen;
    sf_rwlock_exclude(&l->gate);
    gen = l->gen++;
    *out_lsn = sf_wal_last_lsn(l->wal);
    for (unsigned i = 0; i < l->n_memtables; i++) {
        struct sf_memtable *m = &l->memtables[i];
        struct sf_memtable_body *cut = sf_memtable_cut(m);
        if (cut)
            sf_memtable_not_sealed(m, cut); /* to be sealed or written, usually by this flush */
        else if (m->active->rows.n_rows)
            l->gen = gen; /* no memory for a new body: this flush takes nothing, the next retries */
    }
    if (l->gen > gen && !sf_profile_flush_switch(l, l->gen, *out_lsn))
        l->gen = gen;
    for (unsigned i = 0; i < l->n_memtables; i++)
        l->memtables[i].active->gen = l->gen;
    sf_duplicates_take(l->duplicates, out_dups, out_n_dups);
    gen = l->gen > gen ? gen : UINT64_MAX;
    sf_rwlock_release(&l->gate);
    return gen;
}

/* Seals bodies cut by the switch, and those that could not be sealed before. */
static enum sf_err seal_generation(struct sf_local *l, uint64_t gen, struct sf_why *why)
{
    for (unsigned i = 0; i < l->n_memtables; i++) {
        struct sf_memtable *m = &l->memtables[i];
        struct sf_memtable_body *body;
        bool is_busy;
        while ((body = sf_memtable_claim(m, gen, &is_busy)) || is_busy) {
            enum sf_err err = SF_OK;
            if (body)
                err = sf_seal_body(l, m, body, why);
            else
                sf_clock_sleep_ms(1); /* a query is sealing it */
            if (err)
                return err;
        }
    }
    return SF_OK;
}

/* Finds the parts of generations up to `gen`, borrowed from the snapshot, with space for
 * `n_more`. */
static enum sf_err find_parts(const struct sf_snapshot *s, uint64_t gen, size_t n_more,
                              struct sf_run ***out, size_t *out_n, struct sf_why *why)
{
    struct sf_run **parts = sf_heap_new_n(s->n + n_more + 1, sizeof(*parts));
    size_t n = 0;
    if (!parts)
        return sf_fail(why, SF_ERR_NOMEM, "flush: no memory for a list of %zu parts", s->n);
    for (size_t i = 0; i < s->n && n < UINT16_MAX; i++) {
        if (sf_run_is_part(s->runs[i]) && s->runs[i]->gen <= gen)
            parts[n++] = s->runs[i];
    }
    *out = parts;
    *out_n = n;
    return SF_OK;
}

/* Makes runs for the blocks, those of profiles last; NULL: no memory. */
static struct sf_run **flush_make_runs(struct sf_local *l, const struct sf_merge_result *merged)
{
    struct sf_run **blocks = sf_heap_new_n(merged->n + 1, sizeof(struct sf_run *));
    for (size_t i = 0; blocks && i < merged->n; i++) {
        blocks[i] = sf_run_new_block(&l->runs, &merged->rows[i]);
        if (blocks[i])
            continue;
        while (i > 0)
            sf_run_unref(blocks[--i]);
        sf_heap_free(blocks);
        return NULL;
    }
    return blocks;
}

struct flush { /* state of one flush */
    struct sf_local *l;
    uint64_t gen, lsn;
    struct sf_rows_flush rows; /* bodies that are written directly, or */
    struct sf_run **parts;     /* parts to merge; at the end, parts to remove from the snapshot */
    struct sf_merge merge;
    struct sf_profile_flush plan;
    struct sf_merge_result merged;
    size_t n_spans; /* number of span blocks; the following ones are of profiles */
};

/* Publishes the blocks after the commit: nothing here may fail. */
static void flush_show(struct flush *f, struct sf_run **blocks, struct sf_snapshot *rooms[2])
{
    struct sf_local *l = f->l;
    size_t n_parts = f->rows.n ? sf_rows_flush_hold(&f->rows, f->parts) : f->merge.n_inputs;
    struct sf_snapshot_change spans = {
        .out = f->parts, .n_out = n_parts, .in = blocks, .n_in = f->n_spans};
    struct sf_snapshot_change profiles = {.in = blocks + f->n_spans,
                                          .n_in = f->merged.n - f->n_spans};
    if (f->rows.n == 0)
        sf_runs_inherit(f->parts, n_parts, blocks, f->n_spans);
    sf_snapshot_apply(&l->snapshots, &spans, rooms[0]);
    sf_rows_flush_end(&f->rows, true);
    /* For every reader, a profile is either in memory or in a block, never in both. */
    sf_mutex_lock(&l->prof_lock);
    sf_snapshot_apply(&l->prof_snapshots, &profiles, rooms[1]);
    sf_profile_flush_forget(l, f->gen);
    sf_mutex_unlock(&l->prof_lock);
}

/* Commits the blocks and the checkpoint, then shows them. */
static enum sf_err flush_commit(struct flush *f, struct sf_why *why)
{
    struct sf_local *l = f->l;
    const struct sf_merge_result *merged = &f->merged;
    struct sf_catalogue_change entry = {
        .add = merged->rows, .n_add = merged->n, .ckpt_lsn = f->lsn};
    struct sf_run **blocks = flush_make_runs(l, merged);
    struct sf_snapshot *rooms[2] = {
        sf_snapshot_prepare(&l->snapshots, f->n_spans),
        sf_snapshot_prepare(&l->prof_snapshots, merged->n - f->n_spans)};
    enum sf_err err = SF_OK;

    if (!blocks || !rooms[0] || !rooms[1])
        err = sf_fail(why, SF_ERR_NOMEM, "flush: no memory for %zu blocks", merged->n);
    sf_mutex_lock(&l->number_lock);
    entry.next_block = l->next_block;
    entry.next_flush = l->next_flush;
    sf_mutex_unlock(&l->number_lock);
    if (!err)
        err = sf_catalogue_commit(l->catalogue, &entry, why);
    if (!err) {
        flush_show(f, blocks, rooms);
        sf_mutex_lock(&l->number_lock);
        l->ckpt_lsn = f->lsn;
        sf_mutex_unlock(&l->number_lock);
    } else {
        for (size_t i = 0; blocks && i < merged->n; i++)
            sf_run_unref(blocks[i]);
        sf_snapshot_unref(rooms[0]);
        sf_snapshot_unref(rooms[1]);
    }
    sf_heap_free(blocks);
    return err;
}

/* Assigns numbers to the blocks of a flush without spans. */
static void flush_take_numbers(struct sf_local *l, size_t n, struct sf_merge_result *out)
{
    sf_mutex_lock(&l->number_lock);
    out->next_id = l->next_block;
    out->flush_no = l->next_flush;
    l->next_block += n;
    l->next_flush++;
    sf_mutex_unlock(&l->number_lock);
}

/* Writes the blocks of rows or parts, then those of profiles: siblings with consecutive numbers. */
static enum sf_err write_blocks(struct flush *f, struct sf_why *why)
{
    struct sf_local *l = f->l;
    struct sf_merge_result *merged = &f->merged;
    bool has_spans = f->rows.n || f->merge.n_inputs;
    struct sf_block_row *more;
    enum sf_err err = SF_OK;
    if (f->rows.n)
        err = sf_rows_flush_write(l, &f->rows, &f->merge, merged, why);
    else if (has_spans)
        err = sf_merge_run(l, &f->merge, merged, why);
    else if (f->plan.n)
        err = sf_uncommitted_settle(l, why);
    if (!err && !has_spans)
        flush_take_numbers(l, f->plan.n, merged);
    f->n_spans = merged->n;
    if (err || f->plan.n == 0)
        return err;
    more = sf_heap_grow(merged->rows, merged->n + f->plan.n, sizeof(*more));
    if (more)
        merged->rows = more;
    err = more ? sf_profile_flush_write(l, &f->plan, &f->merge, f->merge.dup_hashes,
                                        f->merge.n_dup_hashes, merged, why)
               : sf_fail(why, SF_ERR_NOMEM, "flush: no memory for %zu blocks", f->plan.n);
    if (err)
        sf_merge_result_discard(l, merged);
    return err;
}

/* Collects the rows and decides how to write them: directly into a block if there are no parts. The
 * parts are borrowed from the snapshot. */
static enum sf_err flush_find_rows(struct flush *f, struct sf_snapshot **io_snapshot,
                                   struct sf_why *why)
{
    struct sf_local *l = f->l;
    enum sf_err err = sf_rows_flush_take(l, f->gen, &f->rows, why);

    *io_snapshot = sf_snapshot_take(&l->snapshots);
    if (!err)
        err = find_parts(*io_snapshot, f->gen, f->rows.n, &f->parts, &f->merge.n_inputs, why);
    if (!err && f->rows.n && (f->merge.n_inputs || !sf_rows_flush_is_one_block(l, &f->rows))) {
        sf_rows_flush_end(&f->rows, false);
        err = seal_generation(l, f->gen, why);
        sf_heap_free(f->parts);
        f->parts = NULL;
        sf_snapshot_unref(*io_snapshot);
        *io_snapshot = sf_snapshot_take(&l->snapshots);
        if (!err)
            err = find_parts(*io_snapshot, f->gen, 0, &f->parts, &f->merge.n_inputs, why);
    }
    f->merge.inputs = f->parts;
    return err;
}

static enum sf_err flush_found(struct flush *f, struct sf_why *why)
{
    struct sf_local *l = f->l;
    uint64_t ckpt_lsn;
    enum sf_err err;

    sf_mutex_lock(&l->number_lock);
    ckpt_lsn = l->ckpt_lsn;
    sf_mutex_unlock(&l->number_lock);
    f->merge.lsn_lo = ckpt_lsn + 1;
    err = sf_profile_flush_plan(l, f->gen, &f->plan, why);
    f->merge.n_more = (uint16_t)f->plan.n;
    if (!err)
        err = write_blocks(f, why);
    if (!err && (f->merged.n || f->merge.n_inputs || f->lsn > ckpt_lsn)) {
        err = flush_commit(f, why);
        if (err)
            sf_uncommitted_keep(l, &f->merged);
    }
    if (!err) {
        atomic_fetch_add(&l->n_repeats, f->merged.n_repeats);
        sf_wal_checkpoint(l->wal, f->lsn);
    }
    return err;
}

static enum sf_err flush_locked(struct sf_local *l, uint64_t gen, uint64_t lsn, uint64_t *dups,
                                size_t n_dups, struct sf_why *why)
{
    struct flush f = {
        .l = l,
        .gen = gen,
        .lsn = lsn,
        .merge = {
            .split = SF_SPLIT_DAY, .lsn_hi = lsn, .dup_hashes = dups, .n_dup_hashes = n_dups}};
    struct sf_snapshot *snapshot = NULL;
    enum sf_err err = flush_find_rows(&f, &snapshot, why);

    if (!err)
        err = flush_found(&f, why);
    sf_rows_flush_end(&f.rows, false); /* without effect if they were published */
    sf_profile_flush_done(&f.plan);
    sf_merge_result_done(&f.merged);
    sf_heap_free(f.parts);
    sf_snapshot_unref(snapshot);
    if (err) {
        sf_duplicates_give_back(l->duplicates, dups, n_dups);
        sf_why_prefix(why, "flush");
    } else {
        sf_heap_free(dups);
        l->flushed_mono_ns = sf_local_mono_ns(l);
        sf_local_wake_compact(l);
    }
    sf_pressure_flushed(l, err, why);
    return err;
}

enum sf_err sf_flush_run(struct sf_local *l, struct sf_why *why)
{
    struct sf_why own;
    uint64_t lsn, gen, *dups;
    uint64_t mark = atomic_load(&l->flush_wal_mark);
    size_t n_dups;
    enum sf_err err;

    if (!why)
        why = &own;
    sf_mutex_lock(&l->flush_lock);
    gen = switch_generation(l, &lsn, &dups, &n_dups);
    if (gen == UINT64_MAX) {
        sf_duplicates_give_back(l->duplicates, dups, n_dups);
        err = sf_fail(why, SF_ERR_NOMEM, "flush: no memory for fresh memtables");
        sf_pressure_flushed(l, err, why);
    } else {
        err = flush_locked(l, gen, lsn, dups, n_dups, why);
    }
    if (!err)
        atomic_fetch_sub(&l->flush_wal_mark, mark);
    sf_mutex_unlock(&l->flush_lock);
    return err;
}

enum sf_err sf_flush_replayed(struct sf_local *l, uint64_t lsn, struct sf_why *why)
{
    uint64_t *dups, gen;
    size_t n_dups;
    enum sf_err err;
    sf_mutex_lock(&l->flush_lock);
    gen = l->gen++; /* no other thread runs yet */
    if (!sf_profile_flush_switch(l, l->gen, lsn)) {
        sf_mutex_unlock(&l->flush_lock);
        return sf_fail(why, SF_ERR_NOMEM, "flush: no memory for fresh profiles");
    }
    sf_duplicates_take(l->duplicates, &dups, &n_dups);
    err = flush_locked(l, gen, lsn, dups, n_dups, why);
    sf_mutex_unlock(&l->flush_lock);
    return err;
}

bool sf_flush_profiles_are_due(struct sf_local *l)
{
    return atomic_load(&l->prof_len) >= l->tune.flush_profiles_len;
}

bool sf_flush_rows_are_due(const struct sf_local *l)
{
    size_t parts = sf_budget_used(&l->budget, SF_LINE_PARTS);
    return parts >= l->tune.flush_parts_len ||
           parts + sf_budget_used(&l->budget, SF_LINE_MEMTABLES) >= l->tune.flush_rows_len;
}

/* Is there enough data for a flush? */
static bool flush_is_due(struct sf_local *l)
{
    if (sf_flush_profiles_are_due(l))
        return true;
    if (sf_flush_rows_are_due(l))
        return true;
    if (atomic_load(&l->flush_wal_mark) >= l->tune.flush_wal_len)
        return true;
    return atomic_load(&l->flush_wal_mark) > 0 &&
           sf_local_mono_ns(l) - l->flushed_mono_ns >= l->tune.flush_interval_ns;
}

void sf_flush_loop(void *local)
{
    struct sf_local *l = local;
    int64_t delay_ns = 0, retry_ns = 0;
    while (!atomic_load(&l->is_stopping)) {
        struct sf_why why;
        bool is_due;
        int64_t now_ns;
        sf_mutex_lock(&l->wake_lock);
        if (!l->must_flush && !atomic_load(&l->is_stopping))
            sf_condvar_wait_until(&l->wake_flush, &l->wake_lock,
                                  sf_clock_mono_ns() + TICK_MS * SF_NS_PER_MS);
        l->must_flush = false;
        sf_mutex_unlock(&l->wake_lock);
        if (atomic_load(&l->is_stopping))
            break;
        now_ns = sf_local_mono_ns(l);
        if (sf_seal_is_wanted(l) && sf_seal_all(l, l->tune.seal_age_ns, &why))
            sf_local_notice(l, "store: seal: %s", why.text);
        sf_mutex_lock(&l->flush_lock);
        is_due = flush_is_due(l);
        sf_mutex_unlock(&l->flush_lock);
        sf_pressure_update(l);
        /* A flush requested by another thread may have failed: retry it here. The wake-up may have
         * been for data that the last flush already wrote: then nothing is due, and the little new
         * data would make a small block with all its symbols. */
        if (!(is_due || atomic_load(&l->is_flush_failing)) || now_ns < retry_ns)
            continue;
        if (sf_flush_run(l, &why)) {
            delay_ns = delay_ns ? delay_ns * 2 : FIRST_DELAY_NS;
            if (delay_ns > MAX_DELAY_NS)
                delay_ns = MAX_DELAY_NS;
            retry_ns = now_ns + delay_ns;
        } else {
            delay_ns = 0;
        }
    }
}
