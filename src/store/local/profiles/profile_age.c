/* profile_age.c - every merge deletes what is too old by then; this file handles blocks that are
 * not merged any more. They are rewritten one at a time, so that a server that was stopped for a
 * week does not spend its first minute only with that. */
#include "store/local/profiles/profile_age.h"

#include "base/num.h"
#include "block/profile/profile_block_reader.h"
#include "store/local/keep/outlive.h"
#include "store/local/keep/pins.h"
#include "store/local/write/compact.h"

#define ARENA_CAP ((size_t)1 << 30) /* reserved; only used pages count */

static int64_t before(int64_t now_ns, int64_t age_ns)
{
    return age_ns > 0 ? sf_sub_sat_i64(now_ns, age_ns) : INT64_MIN;
}

struct sf_profile_ages sf_profile_ages_now(struct sf_local *l)
{
    struct sf_profile_ages ages = {INT64_MIN, INT64_MIN};
    sf_mutex_lock(&l->rule_lock);
    if (!l->is_clock_ahead) {
        ages.coarse_before_ns = before(l->now_ns, l->retention.full_resolution_ns);
        ages.detail_before_ns = before(l->now_ns, l->retention.detail_ns);
    }
    sf_mutex_unlock(&l->rule_lock);
    return ages;
}

/* A slot ends up to ten minutes after the block's last profile. */
static bool is_all_coarse(const struct sf_run *run, const struct sf_profile_ages *ages)
{
    return sf_add_sat_i64(run->row.ts_max_ns, SF_PROFILE_SLOT_NS) < ages->coarse_before_ns;
}

static bool is_past_detail(const struct sf_run *run, const struct sf_profile_ages *ages)
{
    return run->row.ts_max_ns < ages->detail_before_ns;
}

static enum sf_err has_fine_chunks(const struct sf_profile_block_reader *r, uint32_t n_services,
                                   struct sf_arena *scratch, bool *out, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && !*out && i < n_services; i++) {
        struct sf_profile_places places;
        sf_arena_reset(scratch);
        err = sf_profile_tables_decode_places(r, i, scratch, &places, why);
        for (uint32_t k = 0; !err && !*out && k < places.n_chunks; k++)
            *out = !places.chunks[k].is_rollup;
    }
    return err;
}

/* Does the block still contain data that is too old? */
static enum sf_err profile_age_look(struct sf_run *run, const struct sf_profile_ages *ages,
                                    uint64_t pins_version, struct sf_arena *scratch,
                                    bool *out_is_due, struct sf_why *why)
{
    const struct sf_profile_block_reader *r;
    const struct sf_profile_service *services;
    uint32_t n_services;
    bool has_fine = false, has_details = false;
    enum sf_err err = sf_run_enter_profiles(run, &r, why);
    if (err)
        return err;
    services = sf_profile_block_reader_services(r, &n_services);
    for (uint32_t i = 0; i < n_services; i++)
        has_details = has_details || services[i].n_details > 0;
    err = has_fine_chunks(r, n_services, scratch, &has_fine, why);
    sf_run_leave(run);
    if (!err && !has_fine && !has_details)
        atomic_store(&run->is_aged, true);
    *out_is_due = (has_fine && is_all_coarse(run, ages)) ||
                  (has_details && is_past_detail(run, ages) &&
                   !sf_outlive_is_marked(run, pins_version, false)); /* not only pinned ones */
    return err;
}

static enum sf_err age(struct sf_local *l, struct sf_run *run, const struct sf_profile_ages *ages,
                       struct sf_arena *scratch, bool *out_did_work, struct sf_why *why)
{
    bool is_due = false;
    struct sf_block_row was = run->row;
    uint64_t version;
    (void)sf_pins_any(l, 0, &version);
    enum sf_err err = profile_age_look(run, ages, version, scratch, &is_due, why);
    if (!err && is_due) {
        err = sf_compact_rewrite(l, run, why);
        if (!err && is_past_detail(run, ages))
            sf_outlive_mark(l, &was, version, false);
    }
    if (err && err != SF_ERR_BUSY && err != SF_ERR_CANCELLED)
        atomic_store(&run->is_aged, true); /* reported once, and retried only after a restart */
    *out_did_work = is_due;
    return err;
}

enum sf_err sf_profile_age_work(struct sf_local *l, struct sf_why *why)
{
    struct sf_profile_ages ages = sf_profile_ages_now(l);
    struct sf_snapshot *s;
    struct sf_arena scratch;
    bool did_work = false;
    enum sf_err err = SF_OK;
    if (ages.coarse_before_ns == INT64_MIN && ages.detail_before_ns == INT64_MIN)
        return SF_OK;
    if (!sf_arena_init(&scratch, ARENA_CAP))
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory to read old profiles");
    s = sf_snapshot_take(&l->prof_snapshots);
    for (size_t i = 0; !err && !did_work && i < s->n; i++) {
        struct sf_run *run = s->runs[i];
        if (sf_run_is_part(run) || atomic_load(&run->is_bad) || atomic_load(&run->is_aged))
            continue;
        if (is_all_coarse(run, &ages) || is_past_detail(run, &ages))
            err = age(l, run, &ages, &scratch, &did_work, why);
    }
    sf_snapshot_unref(s);
    sf_arena_done(&scratch);
    return err;
}
