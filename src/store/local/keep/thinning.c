#include "store/local/keep/thinning.h"

#include <stdlib.h>
#include <string.h>

#include "base/time_unit.h"
#include "base/trace_share.h"
#include "block/profile/profile_block_reader.h"
#include "model/process.h"
#include "store/local/engine.h"
#include "store/local/keep/verdicts.h"
#include "store/local/write/compact.h"

#define ARENA_CAP ((size_t)512 << 20) /* reserved; only used pages count */

/* ---- rows ---- */

enum sf_err sf_thinning_begin(struct sf_thinning *t, struct sf_local *l, uint32_t tenant,
                              int64_t window, bool is_hour, struct sf_why *why)
{
    struct sf_verdict_head head;
    enum sf_err err;
    *t = (struct sf_thinning){.l = l};
    if (!is_hour || !sf_verdicts_find(l, tenant, window, &head) || head.is_whole)
        return SF_OK;
    if (!sf_arena_init(&t->arena, ARENA_CAP))
        return sf_no_memory(why, "a verdict");
    err = sf_verdicts_get(&l->base, tenant, window, &t->arena, &t->verdict, why);
    if (err == SF_ERR_CORRUPT || err == SF_ERR_NOT_FOUND)
        return SF_OK;
    t->is_on = !err;
    /* The verdict already includes pins that are older. */
    return err ? err : sf_pinned_load(&t->pins, l, tenant, t->verdict.head.created_ns, why);
}

enum sf_err sf_thinning_begin_pins(struct sf_thinning *t, struct sf_local *l, uint32_t tenant,
                                   struct sf_why *why)
{
    *t = (struct sf_thinning){.l = l, .is_pins_only = true};
    return sf_pinned_load(&t->pins, l, tenant, INT64_MIN, why);
}

void sf_thinning_end(struct sf_thinning *t)
{
    if (t->n_left_out && !t->is_pins_only) {
        sf_mutex_lock(&t->l->keep.lock);
        t->l->keep.n_thinned += t->n_left_out;
        sf_mutex_unlock(&t->l->keep.lock);
    }
    sf_arena_done(&t->arena);
    sf_pinned_done(&t->pins);
    *t = (struct sf_thinning){0};
}

bool sf_thinning_concerns(const struct sf_thinning *t, const struct sf_run *run)
{
    return t->is_pins_only || (t->is_on && run->row.lsn_hi <= t->verdict.head.lsn);
}

/* Rows without a trace id are selected by another id, with the same hash function. */
static bool is_chosen(uint64_t a, uint64_t b, uint32_t share)
{
    uint8_t name[16];
    sf_store_u64le(name, a);
    sf_store_u64le(name + 8, b);
    return sf_trace_share_has(name, share);
}

static bool is_near_root(const struct sf_thinning *t, const struct sf_thinning_row *row)
{
    const struct sf_verdict *v = &t->verdict;
    int64_t from_ns = row->d->start_ns, to_ns = sf_profile_detail_end(row->d);
    return (row->process && sf_verdict_has_root(v, row->process, from_ns, to_ns)) ||
           sf_verdict_has_root(v, sf_process_hash(row->service, SF_STR_NONE), from_ns, to_ns);
}

static bool thinning_is_kept(const struct sf_thinning *t, const struct sf_thinning_row *row)
{
    const struct sf_verdict *v = &t->verdict;
    const struct sf_profile_detail *d = row->d;
    uint32_t share = sf_keep_rules_of(&v->rules, row->service)->baseline_per_10000;
    bool has_trace = !sf_trace_id_is_zero(d->trace_id);
    if (row->is_uploaded || sf_pinned_has(&t->pins, d, row->service))
        return true;
    if (has_trace && (sf_trace_share_has(d->trace_id.b, share) || sf_verdict_trace(v, d->trace_id)))
        return true;
    if (d->span_id)
        return sf_verdict_has_span(v, d->span_id);
    if (has_trace)
        return false;
    return is_near_root(t, row) ||
           is_chosen(row->process, (uint64_t)(d->start_ns / SF_NS_PER_MIN), share);
}

bool sf_thinning_keeps(struct sf_thinning *t, const struct sf_thinning_row *row)
{
    bool is_left = t->is_pins_only ? sf_pinned_has(&t->pins, row->d, row->service)
                                   : thinning_is_kept(t, row);
    t->n_left_out += !is_left;
    return is_left;
}

/* ---- blocks that no merge would touch ---- */

static enum sf_err has_details(struct sf_run *run, bool *out, struct sf_why *why)
{
    const struct sf_profile_block_reader *r;
    const struct sf_profile_service *services;
    uint32_t n;
    enum sf_err err = sf_run_enter_profiles(run, &r, why);
    if (err)
        return err;
    services = sf_profile_block_reader_services(r, &n);
    *out = false;
    for (uint32_t i = 0; i < n; i++)
        *out = *out || services[i].n_details > 0;
    sf_run_leave(run);
    return SF_OK;
}

static bool thinning_is_waiting(struct sf_local *l, const struct sf_run *run)
{
    struct sf_verdict_head head;
    return run->row.level == 1 && !atomic_load(&run->is_bad) && !atomic_load(&run->is_thinned) &&
           sf_verdicts_find(l, run->row.tenant, sf_local_hour_of(run->row.ts_min_ns), &head) &&
           !head.is_whole && run->row.lsn_hi <= head.lsn && run->row.id < head.below_block;
}

enum sf_err sf_thinning_work(struct sf_local *l, struct sf_why *why)
{
    struct sf_snapshot *s = sf_snapshot_take(&l->prof_snapshots);
    bool did_work = false;
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && !did_work && i < s->n; i++) {
        struct sf_run *run = s->runs[i];
        if (sf_run_is_part(run) || !thinning_is_waiting(l, run))
            continue;
        err = has_details(run, &did_work, why);
        if (!err && did_work)
            err = sf_compact_rewrite(l, run, why);
        if (!did_work || (err && err != SF_ERR_BUSY && err != SF_ERR_CANCELLED))
            atomic_store(&run->is_thinned, true); /* nothing to do, or already reported */
        if (err == SF_ERR_CORRUPT)
            err = SF_OK; /* quarantined and reported */
    }
    sf_snapshot_unref(s);
    if (did_work && !err)
        sf_local_wake_compact(l); /* there may be more to do */
    return err;
}
