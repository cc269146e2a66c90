/* compact.c - compaction. Chooses the next job among the blocks of the snapshot (hours of level 0,
 * then days of profiles), merges its inputs, commits new and dead blocks in one transaction, and
 * publishes the snapshot. The loop also runs retention and erasure and deletes the files of dead
 * blocks that no query uses. */
#include "store/local/write/compact.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "os/memory.h"
#include "store/local/keep/outlive.h"
#include "store/local/keep/pins.h"
#include "store/local/keep/thinning.h"
#include "store/local/keep/verdicts.h"
#include "store/local/profiles/profile_age.h"
#include "store/local/profiles/profile_merge.h"
#include "store/local/write/erase.h"
#include "store/local/write/merge.h"
#include "store/local/write/pressure.h"
#include "store/local/write/retain.h"
#include "store/local/write/service_rules.h"

enum {
    TICK_MS = 1000,
    MAX_INPUTS = 64,
    REMERGE_BLOCKS = 4,
    MEMORY_TRIES = 50,
    MEMORY_WAIT_MS = 5000
};
static const uint64_t MAX_JOB_ROWS = 4u << 20;
/* Total size of profile blocks merged into one. */
static const uint64_t MAX_DAY_LEN = (uint64_t)256 << 20;
/* After the end of the day, for late data. */
static const int64_t DAY_DELAY_NS = 2 * SF_NS_PER_HOUR;

/* ---- choosing ---- */

struct candidate {
    struct sf_run *run;
    int64_t hour;
    bool is_history; /* see sf_local.history_lsn */
};

static bool compact_is_history(struct sf_local *l, const struct sf_run *run)
{
    return run->row.lsn_hi <= atomic_load(&l->history_lsn);
}

static int compact_by_hour(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->run->row.level != y->run->row.level)
        return x->run->row.level < y->run->row.level ? -1 : 1;
    if (x->run->row.level && x->run->row.tenant != y->run->row.tenant)
        return x->run->row.tenant < y->run->row.tenant ? -1 : 1;
    if (x->hour != y->hour)
        return x->hour < y->hour ? -1 : 1;
    if (x->is_history != y->is_history)
        return x->is_history ? -1 : 1;
    return x->run->row.id < y->run->row.id ? -1 : x->run->row.id > y->run->row.id;
}

static bool same_job(const struct candidate *x, const struct candidate *y)
{
    return x->run->row.level == y->run->row.level && x->hour == y->hour &&
           x->is_history == y->is_history &&
           (x->run->row.level == 0 || x->run->row.tenant == y->run->row.tenant);
}

/* The hour of a level-0 block is that of its newest rows: it has few late rows. */
static int64_t hour_of(const struct sf_run *run)
{
    int64_t at = run->row.level ? run->row.ts_min_ns : run->row.ts_max_ns;
    int64_t last = (run->row.day + 1) * SF_NS_PER_DAY - 1;
    return sf_local_hour_of(at < last ? at : last);
}

static bool is_closed(const struct sf_local *l, int64_t hour)
{
    return (hour + 1) * SF_NS_PER_HOUR + l->tune.closed_delay_ns <= sf_local_wall_ns(l);
}

/* How many of [at, end) one job takes; 0: not due. */
static size_t job_size(const struct sf_local *l, const struct candidate *list, size_t at,
                       size_t end)
{
    size_t n = 0;
    uint64_t rows = 0;
    while (at + n < end && n < MAX_INPUTS) {
        rows += list[at + n].run->row.n_rows;
        if (n && rows > MAX_JOB_ROWS)
            break;
        n++;
    }
    if (list[at].run->row.level == 0)
        return end - at >= l->tune.compact_blocks || is_closed(l, list[at].hour) ? n : 0;
    return n >= REMERGE_BLOCKS && is_closed(l, list[at].hour) ? n : 0;
}

/* Chooses the next job: returns its size, and in `*out_at` its first candidate; 0: nothing is
 * due. */
static size_t compact_choose(struct sf_local *l, struct candidate *list, size_t n,
                             bool is_newest_first, size_t *out_at)
{
    size_t best = 0, best_at = 0;
    for (size_t from = 0, to; from < n; from = to) {
        size_t size;
        for (to = from + 1; to < n && same_job(&list[from], &list[to]); to++) {
            /* up to the end of the hour */
        }
        size = job_size(l, list, from, to);
        if (size == 0 || (best && list[from].run->row.level > list[best_at].run->row.level))
            continue;
        if (!best || is_newest_first) { /* hours increase, so the last one found is the newest */
            best = size;
            best_at = from;
        }
    }
    *out_at = best_at;
    return best;
}

static int by_day(const void *a, const void *b)
{
    const struct candidate *of_x = a, *of_y = b;
    const struct sf_block_row *x = &of_x->run->row, *y = &of_y->run->row;
    if (x->tenant != y->tenant)
        return x->tenant < y->tenant ? -1 : 1;
    if (x->day != y->day)
        return x->day < y->day ? -1 : 1;
    if (of_x->is_history != of_y->is_history)
        return of_x->is_history ? -1 : 1;
    if (x->ts_min_ns != y->ts_min_ns)
        return x->ts_min_ns < y->ts_min_ns ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Chooses a finished day of profiles: its hours share their stacks, so one block is smaller and its
 * flame graphs read the symbols once. Stores the first two or more blocks that fit together in
 * `inputs`; 0: none. */
static size_t choose_day(struct sf_local *l, struct candidate *list, size_t n,
                         struct sf_run **inputs)
{
    size_t n_closed = 0;
    for (size_t i = 0; i < n; i++) {
        const struct sf_block_row *row = &list[i].run->row;
        if (row->level == 1 &&
            (row->day + 1) * SF_NS_PER_DAY + DAY_DELAY_NS <= sf_local_wall_ns(l) &&
            !sf_verdicts_holds_back(l, row))
            list[n_closed++] = list[i];
    }
    if (n_closed)
        qsort(list, n_closed, sizeof(*list), by_day);
    for (size_t from = 0; from < n_closed; from++) {
        const struct sf_block_row *first = &list[from].run->row;
        uint64_t len = 0;
        size_t size = 0;
        while (from + size < n_closed && size < MAX_INPUTS &&
               list[from + size].run->row.tenant == first->tenant &&
               list[from + size].run->row.day == first->day &&
               list[from + size].is_history == list[from].is_history &&
               len + list[from + size].run->row.len <= MAX_DAY_LEN) {
            inputs[size] = list[from + size].run;
            len += list[from + size++].run->row.len;
        }
        if (size > 1)
            size = sf_profile_merge_size_take(l, inputs, size, SF_SPLIT_TENANT_DAY);
        if (size > 1)
            return size;
    }
    return 0;
}

/* ---- merging ---- */

/* Copies the runs of one kind from a list; returns their number. */
static size_t pick(struct sf_run *const *from, size_t n, uint8_t kind, struct sf_run **to)
{
    size_t n_to = 0;
    for (size_t i = 0; i < n; i++) {
        if (from[i]->row.kind == kind)
            to[n_to++] = from[i];
    }
    return n_to;
}

struct shown { /* lists for one commit */
    struct sf_run **blocks, **in[2], **out[2];
    size_t n_blocks, n_in[2], n_out[2];
    struct sf_snapshot *rooms[2];
    uint64_t *dead;
};
static const uint8_t KINDS[] = {SF_BLOCK_SPANS, SF_BLOCK_PROFILES};

static bool compact_prepare(struct sf_local *l, const struct sf_merge_result *merged,
                            struct sf_run *const *inputs, size_t n_inputs, struct shown *s)
{
    s->dead = sf_heap_new_n(n_inputs + 1, sizeof(*s->dead));
    s->blocks = sf_heap_new_n(merged->n + 1, sizeof(struct sf_run *));
    for (size_t i = 0; s->blocks && i < merged->n; i++) {
        s->blocks[i] = sf_run_new_block(&l->runs, &merged->rows[i]);
        if (!s->blocks[i])
            return false;
        s->n_blocks++;
    }
    if (!s->dead || !s->blocks)
        return false;
    for (size_t i = 0; i < n_inputs; i++)
        s->dead[i] = inputs[i]->row.id;
    for (size_t k = 0; k < 2; k++) {
        s->in[k] = sf_heap_new_n(merged->n + 1, sizeof(struct sf_run *));
        s->out[k] = sf_heap_new_n(n_inputs + 1, sizeof(struct sf_run *));
        if (!s->in[k] || !s->out[k])
            return false;
        s->n_in[k] = pick(s->blocks, merged->n, KINDS[k], s->in[k]);
        s->n_out[k] = pick(inputs, n_inputs, KINDS[k], s->out[k]);
        s->rooms[k] = sf_snapshot_prepare(sf_local_snapshots(l, KINDS[k]), s->n_in[k]);
        if (!s->rooms[k])
            return false;
    }
    return true;
}

/* Commits new blocks as live and old ones as dead, in the catalogue and then for readers. */
static enum sf_err compact_commit(struct sf_local *l, const struct sf_merge_result *merged,
                                  struct sf_run *const *inputs, size_t n_inputs, struct sf_why *why)
{
    struct sf_catalogue_change entry = {.add = merged->rows, .n_add = merged->n};
    struct shown s = {0};
    enum sf_err err = compact_prepare(l, merged, inputs, n_inputs, &s)
                          ? SF_OK
                          : sf_fail(why, SF_ERR_NOMEM, "compact: no memory for %zu blocks",
                                    merged->n);
    entry.dead_ids = s.dead;
    entry.n_dead = n_inputs;
    sf_mutex_lock(&l->number_lock);
    entry.next_block = l->next_block;
    entry.next_flush = l->next_flush;
    sf_mutex_unlock(&l->number_lock);
    if (!err)
        err = sf_catalogue_commit(l->catalogue, &entry, why);
    for (size_t i = 0; !err && i < n_inputs; i++)
        atomic_store(&inputs[i]->is_dead, true);
    if (!err)
        sf_runs_inherit(inputs, n_inputs, s.blocks, s.n_blocks);
    for (size_t k = 0; k < 2; k++) {
        struct sf_snapshot_change change = {
            .out = s.out[k], .n_out = s.n_out[k], .in = s.in[k], .n_in = s.n_in[k]};
        if (err || s.n_in[k] + s.n_out[k] == 0)
            sf_snapshot_unref(s.rooms[k]);
        else
            sf_snapshot_apply(sf_local_snapshots(l, KINDS[k]), &change, s.rooms[k]);
        sf_heap_free(s.in[k]);
        sf_heap_free(s.out[k]);
    }
    for (size_t i = 0; err && i < s.n_blocks; i++)
        sf_run_unref(s.blocks[i]);
    sf_heap_free(s.dead);
    sf_heap_free(s.blocks);
    return err;
}

/* The tenant of the inputs; 0: several. */
static uint32_t tenant_of(struct sf_run *const *inputs, size_t n)
{
    uint32_t tenant = inputs[0]->row.tenant;
    for (size_t i = 1; i < n; i++)
        tenant = inputs[i]->row.tenant == tenant ? tenant : 0;
    return tenant;
}

/* Hides services that are to be deleted, as an erasure would hide them. */
static enum sf_err hide_services(const struct sf_run *run, const struct sf_compact_only *only,
                                 const struct sf_tombstones *base, struct sf_tombstones **out,
                                 struct sf_why *why)
{
    for (size_t i = 0; i < only->n_services; i++) {
        struct sf_tombstone one = {
            .id = UINT64_MAX,
            .tenant = run->row.tenant,
            .below_block = UINT64_MAX,
            .which = {.what = SF_SELECT_SERVICE, .service = only->services[i]}};
        struct sf_tombstones *more = sf_tombstones_with(*out ? *out : base, &one, 0);
        sf_tombstones_unref(*out);
        *out = more;
        if (!more)
            return sf_no_memory(why, "a merge without some services");
    }
    return SF_OK;
}

static enum sf_err merge_only(struct sf_local *l, struct sf_run *const *inputs, size_t n,
                              enum sf_merge_split split, uint8_t level,
                              const struct sf_compact_only *only, struct sf_why *why)
{
    struct sf_snapshot *s = sf_snapshot_take(&l->snapshots), *now;
    struct sf_merge merge = {
        .inputs = inputs,
        .n_inputs = n,
        .tombstones = s->tombstones,
        .split = split,
        .level = level,
        .lsn_lo = UINT64_MAX,
        .keeps = only->keeps,
        .keeps_arg = only->arg,
        .has_sources = true,
    };
    struct sf_profile_ages ages = sf_profile_ages_now(l);
    struct sf_merge_result merged = {0};
    struct sf_tombstones *aged = NULL;
    uint64_t version;
    enum sf_err err = hide_services(inputs[0], only, s->tombstones, &aged, why);

    if (err) {
        sf_snapshot_unref(s);
        return err;
    }
    if (aged)
        merge.tombstones = aged;

    merge.coarse_before_ns = ages.coarse_before_ns;
    merge.details = only->is_pinned_alone                            ? SF_DETAILS_PINNED_ALONE
                    : sf_pins_any(l, tenant_of(inputs, n), &version) ? SF_DETAILS_PINNED
                                                                     : SF_DETAILS_NONE;
    for (size_t i = 0; i < n; i++) {
        if (inputs[i]->row.ts_max_ns >= ages.detail_before_ns && !only->is_pinned_alone)
            merge.details = SF_DETAILS_ALL;
        if (inputs[i]->row.lsn_lo < merge.lsn_lo)
            merge.lsn_lo = inputs[i]->row.lsn_lo;
        if (inputs[i]->row.lsn_hi > merge.lsn_hi)
            merge.lsn_hi = inputs[i]->row.lsn_hi;
    }
    err = inputs[0]->row.kind == SF_BLOCK_PROFILES ? sf_profile_merge_run(l, &merge, &merged, why)
                                                   : sf_merge_run(l, &merge, &merged, why);
    if (!err) {
        /* A concurrent erasure does not cover blocks numbered after it: then the merge is repeated.
         * The lock prevents an erasure between this check and the commit. */
        sf_mutex_lock(&l->erase_lock);
        now = sf_snapshot_take(&l->snapshots);
        if (now->erase_version != s->erase_version)
            err = sf_fail(why, SF_ERR_BUSY, "compact: an erasure came in between");
        else
            err = compact_commit(l, &merged, inputs, n, why);
        sf_snapshot_unref(now);
        sf_mutex_unlock(&l->erase_lock);
    }
    if (err)
        sf_uncommitted_keep(l, &merged);
    else
        atomic_fetch_add(&l->n_repeats, merged.n_repeats);
    sf_merge_result_done(&merged);
    sf_tombstones_unref(aged);
    sf_snapshot_unref(s);
    return err;
}

static enum sf_err merge_runs(struct sf_local *l, struct sf_run *const *inputs, size_t n,
                              enum sf_merge_split split, uint8_t level, struct sf_why *why)
{
    struct sf_compact_only all = {0};
    return merge_only(l, inputs, n, split, level, &all, why);
}

enum sf_err sf_compact_reduce(struct sf_local *l, struct sf_run *run,
                              const struct sf_compact_only *only, struct sf_why *why)
{
    static const enum sf_merge_split splits[] = {SF_SPLIT_DAY, SF_SPLIT_HOUR, SF_SPLIT_TENANT_DAY};
    unsigned level = run->row.level < 2 ? run->row.level : 2;
    return merge_only(l, &run, 1, splits[level], run->row.level, only, why);
}

enum sf_err sf_compact_rewrite(struct sf_local *l, struct sf_run *run, struct sf_why *why)
{
    struct sf_compact_only all = {0};
    return sf_compact_reduce(l, run, &all, why);
}

/* Hours first: a day is merged when all its hours are. */
static enum sf_err compact_day(struct sf_local *l, const struct sf_snapshot *s,
                               struct candidate *list, bool *out_did_work, struct sf_why *why)
{
    struct sf_run *inputs[MAX_INPUTS];
    size_t n = 0, size;
    enum sf_err err = SF_OK;
    for (size_t i = 0; i < s->n; i++) {
        if (!sf_run_is_part(s->runs[i]) && !atomic_load(&s->runs[i]->is_bad))
            list[n++] = (struct candidate){s->runs[i], 0, compact_is_history(l, s->runs[i])};
    }
    size = choose_day(l, list, n, inputs);
    if (size)
        err = merge_runs(l, inputs, size, SF_SPLIT_TENANT_DAY, 2, why);
    *out_did_work = size && err == SF_OK;
    return err;
}

static enum sf_err compact_kind(struct sf_local *l, uint8_t kind, bool *out_did_work,
                                struct sf_why *why)
{
    struct sf_snapshot *s = sf_snapshot_take(sf_local_snapshots(l, kind));
    struct candidate *list = sf_heap_new_n(s->n + 1, sizeof(*list));
    struct sf_run *inputs[MAX_INPUTS];
    size_t n = 0, at = 0, size, n_level0 = 0;
    enum sf_err err = SF_OK;

    *out_did_work = false;
    if (!list) {
        sf_snapshot_unref(s);
        return sf_fail(why, SF_ERR_NOMEM, "compact: no memory for a list of %zu blocks", s->n);
    }
    for (size_t i = 0; i < s->n; i++) {
        struct sf_run *run = s->runs[i];
        if (sf_run_is_part(run) || atomic_load(&run->is_bad) || run->row.level > 1)
            continue;
        n_level0 += run->row.level == 0;
        if (run->row.level == 1 &&
            (run->row.n_rows >= l->tune.block_rows / 2 || atomic_load(&run->is_alone)))
            continue; /* it is large enough */
        list[n++] = (struct candidate){run, hour_of(run), compact_is_history(l, run)};
    }
    sf_thread_set_nice(n_level0 > l->tune.hurry_blocks ? 0 : 10);
    if (n)
        qsort(list, n, sizeof(*list), compact_by_hour);
    size = compact_choose(l, list, n, n_level0 > l->tune.hurry_blocks, &at);
    for (size_t i = 0; i < size; i++)
        inputs[i] = list[at + i].run;
    if (size)
        size = kind == SF_BLOCK_SPANS ? sf_merge_take(l, inputs, size)
                                      : sf_profile_merge_size_take(l, inputs, size, SF_SPLIT_HOUR);
    /* A merge of one block with itself would repeat forever. */
    if (size == 1 && inputs[0]->row.level == 1) {
        atomic_store(&inputs[0]->is_alone, true);
        *out_did_work = true;
    } else if (size) {
        err = merge_runs(l, inputs, size, SF_SPLIT_HOUR, 1, why);
        *out_did_work = err == SF_OK;
    } else if (kind == SF_BLOCK_PROFILES) {
        err = compact_day(l, s, list, out_did_work, why);
    }
    sf_heap_free(list);
    sf_snapshot_unref(s);
    return err;
}

/* Runs one merge, if any is due. The caller holds merge_lock. */
static enum sf_err compact_step(struct sf_local *l, bool *out_did_work, struct sf_why *why)
{
    bool did_spans = false, did_profiles = false;
    enum sf_err err = compact_kind(l, SF_BLOCK_SPANS, &did_spans, why);
    if (!err)
        err = compact_kind(l, SF_BLOCK_PROFILES, &did_profiles, why);
    *out_did_work = did_spans || did_profiles;
    return err;
}

/* ---- removal ---- */

enum sf_err sf_compact_remove(struct sf_local *l, struct sf_run *const *runs, size_t n,
                              struct sf_why *why)
{
    struct sf_merge_result none = {0};
    return n ? compact_commit(l, &none, runs, n, why) : SF_OK;
}

enum sf_err sf_compact_delete_dead(struct sf_local *l, struct sf_why *why)
{
    struct sf_run *dead = sf_runs_take_dead(&l->runs);
    enum sf_err err = SF_OK;
    while (dead) {
        struct sf_run *next = dead->next_dead;
        char day[32];
        /* A file that cannot be deleted now is deleted at the next start: its catalogue row is
         * dead. */
        enum sf_err one = sf_dir_unlink(l->dir, dead->row.path, why);
        if (!one)
            one = sf_catalogue_forget(l->catalogue, dead->row.id, why);
        sf_local_day_dir(dead->row.kind, dead->row.day, day);
        if (sf_local_day_of(sf_local_wall_ns(l)) != dead->row.day)
            (void)sf_dir_remove(l->dir, day, NULL); /* only when it is empty */
        err = err ? err : one;
        sf_run_free(dead);
        dead = next;
    }
    return err;
}

struct search {
    const struct sf_tombstone *t;
    bool is_found;
};

static bool see_dead(void *arg, const struct sf_block_row *row)
{
    struct search *s = arg;
    if (row->state == SF_BLOCK_DEAD &&
        sf_tombstones_touches(s->t, row->id, row->tenant, row->ts_min_ns, row->ts_max_ns))
        s->is_found = true;
    return !s->is_found;
}

bool sf_compact_is_deleted(struct sf_local *l, const struct sf_tombstone *t)
{
    struct search s = {.t = t};
    return !sf_catalogue_blocks(l->catalogue, see_dead, &s, NULL) && !s.is_found;
}

/* ---- the thread ---- */

/* A failing merge (often for lack of disk space) must not prevent retention from freeing space:
 * every step runs, and the first error is reported. */
enum sf_err sf_compact_all(struct sf_local *l, struct sf_why *why)
{
    bool did_work = true;
    uint64_t n_left = 0;
    enum sf_err err = SF_OK, one;
    sf_mutex_lock(&l->merge_lock);
    while (!err && did_work && !atomic_load(&l->is_stopping))
        err = compact_step(l, &did_work, why);
    /* First: it moves the clock by which orphans expire. */
    one = sf_retain_work(l, err ? NULL : why);
    err = err ? err : one;
    one = sf_profile_age_work(l, err ? NULL : why);
    err = err ? err : one;
    one = sf_service_rules_work(l, err ? NULL : why);
    err = err ? err : one;
    one = sf_thinning_work(l, err ? NULL : why);
    err = err ? err : one;
    one = sf_outlive_work(l, err ? NULL : why);
    err = err ? err : one;
    one = sf_pins_work(l, err ? NULL : why);
    err = err ? err : one;
    one = sf_verdicts_age(l, err ? NULL : why);
    err = err ? err : one;
    one = sf_erase_work(l, &n_left, err ? NULL : why);
    err = err ? err : one;
    one = sf_compact_delete_dead(l, err ? NULL : why);
    err = err ? err : one;
    sf_mutex_unlock(&l->merge_lock);
    one = sf_long_traces_compare(l, err ? NULL : why);
    return err ? err : one;
}

/* A merge may take more than its line when texts are long. It can wait until requests have given
 * their memory back, but not for ever. */
static void wait_for_memory(const struct sf_local *l)
{
    size_t need = 3 * l->budget.cap[SF_LINE_MERGE];
    for (int i = 0; i < MEMORY_TRIES && !atomic_load(&l->is_stopping) &&
                    sf_memory_resident_len() + need > l->config.memory_len;
         i++)
        sf_clock_sleep_ms(MEMORY_WAIT_MS / MEMORY_TRIES);
}

void sf_compact_loop(void *local)
{
    struct sf_local *l = local;
    bool is_prepared = false;
    while (!atomic_load(&l->is_stopping)) {
        struct sf_why why;
        enum sf_err err;
        sf_mutex_lock(&l->wake_lock);
        if (!l->must_compact && !atomic_load(&l->is_stopping))
            sf_condvar_wait_until(&l->wake_compact, &l->wake_lock,
                                  sf_clock_mono_ns() + TICK_MS * SF_NS_PER_MS);
        l->must_compact = false;
        sf_mutex_unlock(&l->wake_lock);
        if (atomic_load(&l->is_stopping))
            break;
        if (l->config.memory_len)
            wait_for_memory(l);
        err = sf_compact_all(l, &why);
        sf_pressure_compacted(l, err, &why);
        if (!is_prepared)
            (void)sf_doubles_prepare(l, NULL); /* otherwise the first query does it */
        is_prepared = true;
    }
}
