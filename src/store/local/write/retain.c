/* retain.c - deletes by age and size, with a clock that is protected against jumps.
 *
 * Retention has its own clock. It follows the wall clock as long as that is at most an hour ahead
 * of where monotonic time says it should be, and never goes back. It stops when the wall clock is
 * further ahead: that may be a jump or a long time switched off, which cannot be distinguished. It
 * continues when the clock returns, when the operator sets the rule again, or when for an hour the
 * times of incoming spans agreed with the wall clock. */
#include "store/local/write/retain.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "store/local/files/directory.h"
#include "store/local/keep/outlive.h"
#include "store/local/keep/rule_sets.h"
#include "store/local/write/compact.h"
#include "store/local/write/tenant_rules.h"
#include "wal/wal.h"

static const int64_t AHEAD_NS = SF_NS_PER_HOUR, SAVE_NS = SF_NS_PER_MIN,
                     BESIDE_NS = 10 * SF_NS_PER_S;

/* Call with rule_lock held. */
static void trust_wall(struct sf_local *l, int64_t wall_ns, int64_t mono_ns)
{
    if (wall_ns > l->now_ns)
        l->now_ns = wall_ns;
    l->now_mono_ns = mono_ns;
    l->is_clock_ahead = false;
    l->agree_ns = 0;
}

/* Have the times of incoming spans agreed with the wall clock for an hour? */
static bool spans_agree_for_an_hour(struct sf_local *l, int64_t wall_ns, int64_t mono_ns)
{
    int64_t start_ns = atomic_exchange(&l->last_start_ns, 0);
    if (start_ns == 0)
        return false; /* no span came */
    if (start_ns < wall_ns - AHEAD_NS || start_ns > wall_ns + AHEAD_NS) {
        l->agree_ns = 0;
        return false;
    }
    if (l->agree_ns == 0)
        l->agree_ns = mono_ns;
    return mono_ns - l->agree_ns >= SF_NS_PER_HOUR;
}

/* Call with rule_lock held. True: `*out_now` may be used to delete by age. `*out_ahead_ns`: how far
 * the wall clock was just found ahead, for the operator; 0: no change. */
static bool move_clock(struct sf_local *l, int64_t *out_now, int64_t *out_ahead_ns)
{
    int64_t wall_ns = sf_local_wall_ns(l), mono_ns = sf_local_mono_ns(l);
    int64_t believed_ns = sf_add_sat_i64(l->now_ns, mono_ns - l->now_mono_ns);
    bool was_ahead = l->is_clock_ahead;
    if (wall_ns <= believed_ns) {
        if (wall_ns > l->now_ns)
            l->now_ns = wall_ns;
        l->now_mono_ns = mono_ns;
        l->is_clock_ahead = false;
        l->agree_ns = 0;
    } else if (wall_ns - believed_ns <= AHEAD_NS || spans_agree_for_an_hour(l, wall_ns, mono_ns)) {
        trust_wall(l, wall_ns, mono_ns);
    } else {
        l->is_clock_ahead = true;
    }
    *out_now = l->now_ns;
    *out_ahead_ns = l->is_clock_ahead && !was_ahead ? wall_ns - believed_ns : 0;
    return !l->is_clock_ahead;
}

/* Moves retention's clock, and stores it in the catalogue from time to time. */
static enum sf_err keep_clock(struct sf_local *l, struct sf_retention *rule, bool *out_may_age,
                              int64_t *out_now, struct sf_why *why)
{
    int64_t ahead_ns;
    bool is_due;
    enum sf_err err;
    sf_mutex_lock(&l->rule_lock);
    *rule = l->retention;
    *out_may_age = move_clock(l, out_now, &ahead_ns);
    is_due = *out_now - l->saved_now_ns >= SAVE_NS;
    sf_mutex_unlock(&l->rule_lock);
    if (ahead_ns)
        sf_local_notice(l,
                        "store: the clock is %" PRId64 " h ahead of where it was: removal by age "
                        "pauses until it returns, is confirmed, or an hour of spans agrees",
                        ahead_ns / SF_NS_PER_HOUR);
    if (!is_due)
        return SF_OK;
    err = sf_catalogue_set_now(l->catalogue, *out_now, why);
    if (err)
        return err;
    sf_mutex_lock(&l->rule_lock);
    l->saved_now_ns = *out_now;
    sf_mutex_unlock(&l->rule_lock);
    return SF_OK;
}

static int retain_by_end(const void *a, const void *b)
{
    const struct sf_run *x = *(struct sf_run *const *)a, *y = *(struct sf_run *const *)b;
    if (x->row.ts_max_ns != y->row.ts_max_ns)
        return x->row.ts_max_ns < y->row.ts_max_ns ? -1 : 1;
    return x->row.id < y->row.id ? -1 : x->row.id > y->row.id;
}

/* ---- files beside the blocks ---- */

static enum sf_err trim_beside(struct sf_local *l, int64_t before_ns, uint64_t need_len,
                               struct sf_why *why)
{
    const struct sf_beside *b = &l->config.beside;
    return b->trim ? b->trim(b->arg, before_ns, need_len, &l->beside, why) : SF_OK;
}

/* Reading the folder costs a system call per file, so it is done rarely. */
static enum sf_err age_beside(struct sf_local *l, const struct sf_retention *rule, bool may_age,
                              int64_t now_ns, struct sf_why *why)
{
    int64_t mono_ns = sf_local_mono_ns(l);
    int64_t before_ns = may_age && rule->profiles_ns > 0 ? now_ns - rule->profiles_ns : INT64_MIN;
    enum sf_err err;
    if (l->beside_mono_ns && mono_ns - l->beside_mono_ns < BESIDE_NS)
        return SF_OK;
    err = trim_beside(l, before_ns, UINT64_MAX, why);
    if (!err)
        l->beside_mono_ns = mono_ns;
    return err;
}

/* Over the size limit, the oldest data is deleted first, blocks or files beside them. */
static enum sf_err shrink_beside(struct sf_local *l, int64_t before_ns, uint64_t max_len,
                                 uint64_t *len, struct sf_why *why)
{
    uint64_t was_len = l->beside.len;
    enum sf_err err;
    if (max_len == 0 || *len <= max_len || was_len == 0 || l->beside.oldest_ns >= before_ns)
        return SF_OK;
    err = trim_beside(l, before_ns, *len - max_len, why);
    if (!err)
        *len = *len - was_len + l->beside.len;
    else
        l->beside.oldest_ns = INT64_MAX; /* not again in this pass: delete blocks instead */
    if (err)
        l->beside_mono_ns = 0;
    return err;
}

/* ---- blocks ---- */

/* How many of the blocks, oldest first, must be deleted? */
static size_t count_expired(struct sf_local *l, struct sf_run **blocks, size_t n,
                            const struct sf_retention *rule, struct sf_tenant_rules *tenants,
                            bool may_age, int64_t now_ns, enum sf_err *beside, struct sf_why *why)
{
    struct sf_wal_stats wal;
    uint64_t len = 0;
    size_t n_out = 0;
    enum sf_err err;
    sf_wal_stats(l->wal, &wal);
    len = wal.len + l->beside.len;
    for (size_t i = 0; i < n; i++)
        len += blocks[i]->row.len;
    for (size_t i = 0; i < n; i++) {
        struct sf_run *run = blocks[i];
        int64_t age_ns = sf_tenant_rules_age(tenants, run);
        bool is_old = (may_age && age_ns > 0 && run->row.ts_max_ns < now_ns - age_ns &&
                       !sf_outlive_spares(l, &run->row, rule, now_ns)) ||
                      sf_tenant_rules_is_over(tenants, run);
        err = is_old ? SF_OK : shrink_beside(l, run->row.ts_max_ns, rule->max_len, &len, why);
        *beside = *beside ? *beside : err;
        if (!is_old && (rule->max_len == 0 || len <= rule->max_len))
            continue;
        len -= run->row.len;
        sf_tenant_rules_remove(tenants, run);
        blocks[i] = blocks[n_out]; /* blocks to delete are moved to the front */
        blocks[n_out++] = run;
    }
    err = shrink_beside(l, INT64_MAX, rule->max_len, &len, why);
    *beside = *beside ? *beside : err;
    return n_out;
}

enum sf_err sf_retain_work(struct sf_local *l, struct sf_why *why)
{
    struct sf_retention rule;
    struct sf_snapshot *s, *profiles;
    struct sf_tenant_rules tenants;
    struct sf_run **blocks;
    size_t n = 0, n_out;
    int64_t now_ns;
    bool may_age;
    enum sf_err err = keep_clock(l, &rule, &may_age, &now_ns, why), beside;

    if (err)
        return err;
    beside = age_beside(l, &rule, may_age, now_ns, why); /* blocks are deleted even if this fails */
    s = sf_snapshot_take(&l->snapshots);
    profiles = sf_snapshot_take(&l->prof_snapshots);
    blocks = sf_heap_new_n(s->n + profiles->n + 1, sizeof(struct sf_run *));
    if (!blocks) {
        sf_snapshot_unref(profiles);
        sf_snapshot_unref(s);
        return sf_fail(why, SF_ERR_NOMEM, "retain: no memory for a list of blocks");
    }
    for (size_t i = 0; i < s->n; i++) {
        if (!sf_run_is_part(s->runs[i]))
            blocks[n++] = s->runs[i];
    }
    for (size_t i = 0; i < profiles->n; i++)
        blocks[n++] = profiles->runs[i];
    if (n)
        qsort(blocks, n, sizeof(*blocks), retain_by_end);
    err = sf_tenant_rules_init(&tenants, l, &rule, blocks, n, why);
    if (!err) {
        n_out = count_expired(l, blocks, n, &rule, &tenants, may_age, now_ns, &beside, why);
        err = sf_compact_remove(l, blocks, n_out, why);
    }
    sf_tenant_rules_done(&tenants);
    sf_heap_free(blocks);
    sf_snapshot_unref(profiles);
    sf_snapshot_unref(s);
    if (!err)
        err = sf_directory_sweep(l->dir, now_ns, l->tune.orphan_age_ns, NULL, why);
    return err ? err : beside;
}

int64_t sf_retain_now(struct sf_local *l)
{
    int64_t now_ns;
    sf_mutex_lock(&l->rule_lock);
    now_ns = l->now_ns;
    sf_mutex_unlock(&l->rule_lock);
    return now_ns;
}

enum sf_err sf_retain_set(struct sf_store *store, const struct sf_retention *rule,
                          struct sf_why *why)
{
    struct sf_local *l = (struct sf_local *)store;
    enum sf_err err;
    sf_mutex_lock(&l->rule_lock);
    l->retention = *rule;
    trust_wall(l, sf_local_wall_ns(l), sf_local_mono_ns(l));
    sf_mutex_unlock(&l->rule_lock);
    err = sf_rule_sets_update(l, false, why);
    sf_local_wake_compact(l);
    return err;
}
