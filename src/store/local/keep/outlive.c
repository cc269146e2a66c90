#include "store/local/keep/outlive.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/num.h"
#include "store/local/engine.h"
#include "store/local/keep/pins.h"
#include "store/local/keep/verdicts.h"
#include "store/local/write/compact.h"
#include "store/local/write/tenant_rules.h"

#define ARENA_CAP ((size_t)512 << 20) /* reserved; only used pages count */
enum { MOST_HOURS = 4 };

static bool has_outcome(const struct sf_block_row *row, const struct sf_retention *rule,
                        int64_t now_ns)
{
    return rule->keep.is_on && rule->spans_by_outcome_ns > rule->spans_ns && row->level > 0 &&
           row->ts_max_ns >= sf_sub_sat_i64(now_ns, rule->spans_by_outcome_ns);
}

bool sf_outlive_spares(struct sf_local *l, const struct sf_block_row *row,
                       const struct sf_retention *rule, int64_t now_ns)
{
    uint64_t version;
    return (row->kind == SF_BLOCK_SPANS && has_outcome(row, rule, now_ns)) ||
           sf_pins_any(l, row->tenant, &version);
}

struct outlive {
    struct sf_pin *pinned; /* of the block's tenant, or of all */
    size_t n_pinned;
    struct sf_verdict verdicts[MOST_HOURS]; /* of the block's hours */
    uint32_t n;
    struct sf_arena arena;
};

static int outlive_by_trace(const void *a, const void *b)
{
    return sf_trace_id_cmp(*(const sf_trace_id *)a, ((const struct sf_pin *)b)->trace);
}

static bool keeps(void *arg, uint32_t tenant, sf_trace_id id)
{
    const struct outlive *o = arg;
    (void)tenant;
    if (o->n_pinned && bsearch(&id, o->pinned, o->n_pinned, sizeof(*o->pinned), outlive_by_trace))
        return true;
    for (uint32_t i = 0; i < o->n; i++) {
        if (sf_verdict_trace(&o->verdicts[i], id))
            return true;
    }
    return false;
}

/* A trace is in the verdicts of all hours in which it ran. */
static enum sf_err load_verdicts(struct sf_local *l, const struct sf_block_row *row,
                                 struct outlive *o, struct sf_why *why)
{
    int64_t first = sf_local_hour_of(row->ts_min_ns), last = sf_local_hour_of(row->ts_max_ns);
    enum sf_err err = sf_arena_init(&o->arena, ARENA_CAP) ? SF_OK : sf_no_memory(why, "verdicts");
    for (int64_t h = first; !err && h <= last && o->n < MOST_HOURS; h++) {
        err = sf_verdicts_get(&l->base, row->tenant, h, &o->arena, &o->verdicts[o->n], why);
        if (!err)
            o->n++;
        else if (err == SF_ERR_NOT_FOUND || err == SF_ERR_CORRUPT)
            err = SF_OK;
    }
    return err;
}

static enum sf_err reduce(struct sf_local *l, struct sf_run *run, bool is_by_outcome,
                          struct sf_why *why)
{
    struct outlive o = {0};
    struct sf_compact_only only = {.keeps = keeps, .arg = &o};
    enum sf_err err;
    if (run->row.kind == SF_BLOCK_PROFILES) {
        only = (struct sf_compact_only){.is_pinned_alone = true};
        return sf_compact_reduce(l, run, &only, why);
    }
    err = sf_pins_now(l, run->row.tenant, INT64_MIN, &o.pinned, &o.n_pinned, why);
    if (!err && is_by_outcome)
        err = load_verdicts(l, &run->row, &o, why);
    if (!err)
        err = sf_compact_reduce(l, run, &only, why);
    sf_heap_free(o.pinned);
    sf_arena_done(&o.arena);
    return err;
}

static uint64_t mark_of(uint64_t pins_version, bool is_alone)
{
    return 2 * (pins_version + 1) + is_alone;
}

bool sf_outlive_is_marked(const struct sf_run *run, uint64_t pins_version, bool is_alone)
{
    uint64_t mark = atomic_load(&run->outlive_mark);
    return mark == mark_of(pins_version, true) ||
           (!is_alone && mark == mark_of(pins_version, false));
}

void sf_outlive_mark(struct sf_local *l, const struct sf_block_row *was, uint64_t pins_version,
                     bool is_alone)
{
    struct sf_snapshot *s = sf_snapshot_take(sf_local_snapshots(l, was->kind));
    for (size_t i = 0; i < s->n; i++) {
        struct sf_run *run = s->runs[i];
        if (!sf_run_is_part(run) && run->row.id >= was->id && run->row.lsn_lo == was->lsn_lo &&
            run->row.lsn_hi == was->lsn_hi && run->row.day == was->day)
            atomic_store(&run->outlive_mark, mark_of(pins_version, is_alone));
    }
    sf_snapshot_unref(s);
}

struct pass {
    struct sf_retention rule;
    int64_t now_ns;
    uint64_t version; /* of the pins */
    bool did_work;
};

static enum sf_err outlive_work(struct sf_local *l, struct pass *p, enum sf_block_kind kind,
                                struct sf_why *why)
{
    struct sf_snapshot *s = sf_snapshot_take(sf_local_snapshots(l, (uint8_t)kind));
    struct sf_tenant_rules tenants = {0};
    enum sf_err err = sf_tenant_rules_init(&tenants, l, &p->rule, s->runs, s->n, why);
    for (size_t i = 0; !err && !p->did_work && i < s->n; i++) {
        struct sf_run *run = s->runs[i];
        struct sf_block_row was = run->row;
        int64_t age_ns = sf_run_is_part(run) ? 0 : sf_tenant_rules_age(&tenants, run);
        if (sf_run_is_part(run) || atomic_load(&run->is_bad) || age_ns <= 0 ||
            was.ts_max_ns >= p->now_ns - age_ns ||
            !sf_outlive_spares(l, &was, &p->rule, p->now_ns) ||
            sf_outlive_is_marked(run, p->version, true))
            continue;
        err = reduce(l, run, has_outcome(&was, &p->rule, p->now_ns), why);
        p->did_work = true;
        if (!err)
            sf_outlive_mark(l, &was, p->version, true);
        else if (err != SF_ERR_BUSY && err != SF_ERR_CANCELLED)
            /* Do not retry: the failure was reported. */
            atomic_store(&run->outlive_mark, mark_of(p->version, true));
    }
    sf_tenant_rules_done(&tenants);
    sf_snapshot_unref(s);
    return err;
}

enum sf_err sf_outlive_work(struct sf_local *l, struct sf_why *why)
{
    struct pass p = {0};
    bool may_age;
    enum sf_err err;
    sf_mutex_lock(&l->rule_lock);
    p.rule = l->retention;
    p.now_ns = l->now_ns;
    may_age = !l->is_clock_ahead;
    sf_mutex_unlock(&l->rule_lock);
    (void)sf_pins_any(l, 0, &p.version);
    if (!may_age)
        return SF_OK;
    err = outlive_work(l, &p, SF_BLOCK_SPANS, why);
    if (!err)
        err = outlive_work(l, &p, SF_BLOCK_PROFILES, why);
    if (p.did_work && !err)
        sf_local_wake_compact(l);
    return err;
}
