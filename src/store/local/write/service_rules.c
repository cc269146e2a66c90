#include "store/local/write/service_rules.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/time_unit.h"
#include "block/profile/profile_block_reader.h"
#include "block/span/span_block_reader.h"
#include "store/local/files/tenants.h"
#include "store/local/keep/pins.h"
#include "store/local/write/compact.h"

#define LOOK_NS   (60 * SF_NS_PER_S) /* how often all blocks are examined; also when rules change */
#define ARENA_CAP ((size_t)1 << 30)  /* reserved; only used pages count */
enum { MOST_AT_ONCE = 16 };

struct part { /* the share of one service in a block */
    struct sf_run *run;
    sf_str service;
    struct sf_tenant_rule rule;
    uint64_t n_rows, len;
    bool is_due;
};

struct pass {
    struct sf_local *l;
    struct sf_arena arena; /* names */
    struct part *list;
    size_t n, cap;
    struct sf_pin *pins;
    size_t n_pins;
    int64_t now_ns;
};

/* ---- what is in a block ---- */

static enum sf_err service_rules_add(struct pass *k, struct sf_run *run, sf_str tenant,
                                     sf_str service, uint64_t n_rows, struct sf_why *why)
{
    struct sf_tenant_rule rule = {0};
    struct part *last = k->n ? &k->list[k->n - 1] : NULL;
    /* Another operation of the same service. */
    if (last && last->run == run && sf_str_eq(last->service, service)) {
        last->n_rows += n_rows;
        return SF_OK;
    }
    if (!k->l->config.service_rule(k->l->config.tenant_rule_arg, tenant, service, &rule))
        return SF_OK;
    if (!sf_list_room(&k->list, k->n, &k->cap, 64))
        return sf_no_memory(why, "rules of services");
    k->list[k->n] = (struct part){.run = run, .rule = rule, .n_rows = n_rows};
    return sf_arena_copy(&k->arena, service, &k->list[k->n++].service)
               ? SF_OK
               : sf_no_memory(why, "rules of services");
}

static enum sf_err inspect_spans(struct pass *k, struct sf_run *run, sf_str tenant,
                                 struct sf_why *why)
{
    const struct sf_span_block_reader *r;
    const struct sf_block_operation *ops;
    uint32_t n = 0;
    enum sf_err err = sf_run_enter(run, SF_TABLES_NAMES | SF_TABLES_OPERATIONS, &r, why);
    if (err)
        return err;
    ops = sf_span_block_reader_operations(r, &n);
    for (uint32_t i = 0; !err && i < n; i++)
        err = service_rules_add(k, run, tenant, ops[i].service, ops[i].all.n_spans, why);
    sf_run_leave(run);
    return err;
}

static enum sf_err inspect_profiles(struct pass *k, struct sf_run *run, sf_str tenant,
                                    struct sf_why *why)
{
    const struct sf_profile_block_reader *r;
    const struct sf_profile_service *services;
    uint32_t n = 0;
    enum sf_err err = sf_run_enter_profiles(run, &r, why);
    if (err)
        return err;
    services = sf_profile_block_reader_services(r, &n);
    for (uint32_t i = 0; !err && i < n; i++)
        err = service_rules_add(k, run, tenant, services[i].name,
                                services[i].n_entries + services[i].n_details, why);
    sf_run_leave(run);
    return err;
}

static bool service_rules_is_pinned(const struct pass *k, const struct sf_block_row *row)
{
    for (size_t i = 0; i < k->n_pins; i++) {
        if (k->pins[i].tenant == row->tenant && k->pins[i].start_ns <= row->ts_max_ns &&
            k->pins[i].start_ns >= row->ts_min_ns - SF_NS_PER_HOUR)
            return true;
    }
    return false;
}

static enum sf_err service_rules_inspect_all(struct pass *k, const struct sf_snapshot *s,
                                             struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < s->n; i++) {
        struct sf_run *run = s->runs[i];
        size_t first = k->n;
        uint64_t n_rows = 0;
        sf_str tenant;
        if (sf_run_is_part(run) || atomic_load(&run->is_bad) || run->row.tenant == 0 ||
            !sf_tenants_name(k->l->tenants, run->row.tenant, &tenant))
            continue;
        err = run->row.kind == SF_BLOCK_SPANS ? inspect_spans(k, run, tenant, why)
                                              : inspect_profiles(k, run, tenant, why);
        if (err == SF_ERR_CORRUPT) /* quarantined and reported */
            err = SF_OK;
        n_rows = run->row.n_rows ? run->row.n_rows : 1;
        for (size_t j = first; !err && j < k->n; j++) {
            struct part *p = &k->list[j];
            double share = (double)p->n_rows / (double)n_rows;
            p->len = (uint64_t)((double)run->row.len * (share < 1 ? share : 1));
        }
    }
    return err;
}

/* ---- what is due ---- */

static int service_rules_newest_first(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    int order;
    if (x->run->row.tenant != y->run->row.tenant)
        return x->run->row.tenant < y->run->row.tenant ? -1 : 1;
    order = sf_str_cmp(x->service, y->service);
    if (order)
        return order;
    return x->run->row.ts_max_ns < y->run->row.ts_max_ns   ? 1
           : x->run->row.ts_max_ns > y->run->row.ts_max_ns ? -1
                                                           : 0;
}

static void service_rules_find_due(struct pass *k)
{
    uint64_t len = 0;
    if (k->n)
        qsort(k->list, k->n, sizeof(*k->list), service_rules_newest_first);
    for (size_t i = 0; i < k->n; i++) {
        struct part *p = &k->list[i];
        const struct part *before = i ? &k->list[i - 1] : NULL;
        int64_t age_ns = p->run->row.kind == SF_BLOCK_SPANS ? p->rule.spans_ns
                                                            : p->rule.profiles_ns;
        bool is_same = before && before->run->row.tenant == p->run->row.tenant &&
                       sf_str_eq(before->service, p->service);
        len = (is_same ? len : 0) + p->len;
        p->is_due = (age_ns > 0 && p->run->row.ts_max_ns < k->now_ns - age_ns) ||
                    (p->rule.max_len && len > p->rule.max_len);
        if (p->is_due && service_rules_is_pinned(k, &p->run->row))
            p->is_due = false;
    }
}

static int by_run(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    return (uintptr_t)x->run < (uintptr_t)y->run ? -1 : (uintptr_t)x->run > (uintptr_t)y->run;
}

static enum sf_err rewrite(struct pass *k, uint32_t *n_done, struct sf_why *why)
{
    sf_str *names = sf_heap_new_n(k->n + 1, sizeof(*names));
    enum sf_err err = names ? SF_OK : sf_no_memory(why, "rules of services");
    if (k->n)
        qsort(k->list, k->n, sizeof(*k->list), by_run);
    for (size_t i = 0, end; !err && i < k->n && *n_done < MOST_AT_ONCE; i = end) {
        struct sf_compact_only only = {.services = names};
        for (end = i; end < k->n && k->list[end].run == k->list[i].run; end++) {
            if (k->list[end].is_due)
                names[only.n_services++] = k->list[end].service;
        }
        if (only.n_services == 0)
            continue;
        err = sf_compact_reduce(k->l, k->list[i].run, &only, why);
        ++*n_done;
    }
    sf_heap_free(names);
    return err;
}

static enum sf_err service_rules_work(struct pass *k, uint32_t *n_done, struct sf_why *why)
{
    struct sf_snapshot *spans = sf_snapshot_take(&k->l->snapshots);
    struct sf_snapshot *profiles = sf_snapshot_take(&k->l->prof_snapshots);
    enum sf_err err = sf_arena_init(&k->arena, ARENA_CAP) ? SF_OK
                                                          : sf_no_memory(why, "rules of services");
    if (!err)
        err = service_rules_inspect_all(k, spans, why);
    if (!err)
        err = service_rules_inspect_all(k, profiles, why);
    if (!err) {
        service_rules_find_due(k);
        err = rewrite(k, n_done, why);
    }
    sf_heap_free(k->list);
    sf_arena_done(&k->arena);
    sf_snapshot_unref(profiles);
    sf_snapshot_unref(spans);
    return err;
}

enum sf_err sf_service_rules_work(struct sf_local *l, struct sf_why *why)
{
    const struct sf_local_config *c = &l->config;
    uint64_t version = c->service_rules ? c->service_rules(c->tenant_rule_arg) : 0;
    int64_t mono_ns = sf_local_mono_ns(l);
    struct pass k = {.l = l};
    uint32_t n_done = 0;
    bool may_age;
    enum sf_err err;
    sf_mutex_lock(&l->rule_lock);
    k.now_ns = l->now_ns;
    may_age = !l->is_clock_ahead;
    sf_mutex_unlock(&l->rule_lock);
    if (!version || !may_age ||
        (version == l->service_version && mono_ns - l->service_mono_ns < LOOK_NS))
        return SF_OK;
    err = sf_pins_now(l, 0, INT64_MIN, &k.pins, &k.n_pins, why);
    if (!err)
        err = service_rules_work(&k, &n_done, why);
    sf_heap_free(k.pins);
    if (!err && n_done < MOST_AT_ONCE) { /* otherwise there may be more to do */
        l->service_version = version;
        l->service_mono_ns = mono_ns;
    } else if (!err) {
        sf_local_wake_compact(l);
    }
    return err;
}
