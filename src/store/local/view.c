/* view.c - a store without files: its snapshot has a part made of the rows that were added, and
 * runs borrowed from the store that it is a view of. Borrowed runs and memory are referenced, so
 * they stay readable while that store flushes and merges. */
#include "store/local/view.h"

#include <string.h>

#include "base/heap.h"
#include "store/local/engine.h"
#include "store/local/local.h"
#include "store/local/profiles/profile_mem.h"
#include "store/local/write/batch_rows.h"
#include "store/local/write/seal.h"

/* Reserved address space. */
enum { ROWS_CAP = 1 << 20, DATA_CAP = 256 << 20 };

struct view {
    struct sf_local l; /* first member: a store is cast to its engine */
    struct sf_local *of;
    struct sf_rowset rows;
    bool has_rows;
    /* The last resource and scope: rows often repeat them. */
    const struct sf_resource *resource;
    const struct sf_scope *scope;
    uint32_t tenant, resource_place, scope_place;
    /* Blocks of profiles borrowed from the store. */
    struct sf_snapshot *blocks;
    size_t n_mems;
};

static struct view *view_of(struct sf_store *s)
{
    return (struct view *)s;
}

static enum sf_err view_hide(struct sf_local *l, struct sf_local *from, struct sf_why *why)
{
    struct sf_snapshot *now = sf_snapshot_take(&from->snapshots);
    struct sf_snapshot_change change = {.has_tombstones = true,
                                        .tombstones = sf_tombstones_ref(now->tombstones)};
    enum sf_err err = sf_snapshot_change(&l->snapshots, &change, why);
    if (err)
        sf_tombstones_unref(change.tombstones);
    sf_snapshot_unref(now);
    return err;
}

enum sf_err sf_view_open(struct sf_store *store, struct sf_store **out, struct sf_why *why)
{
    struct sf_local *from = (struct sf_local *)store, *l;
    struct view *v = sf_heap_new(sizeof(*v));
    enum sf_err err;
    if (!v)
        return sf_no_memory(why, "a view");
    l = &v->l;
    v->of = from;
    l->base.ops = &sf_store_local_ops;
    l->config = from->config;
    l->tune = from->tune;
    l->dir = from->dir;
    l->tenants = from->tenants;
    memcpy(l->uuid, from->uuid, sizeof(l->uuid));
    sf_local_init_locks(l);
    sf_budget_init(&l->budget, l->config.memory_len);
    sf_runs_init(&l->runs, l->dir, &l->budget);
    l->prof = sf_profile_mem_new(&l->budget);
    err = l->prof && sf_partials_init(&l->partials, &l->budget) &&
                  sf_snapshots_init(&l->snapshots) && sf_snapshots_init(&l->prof_snapshots)
              ? view_hide(l, from, why)
              : sf_no_memory(why, "a view");
    if (l->partials.budget)
        sf_doubles_init(&l->doubles, &l->budget);
    if (err) {
        sf_view_close(&l->base);
        return err;
    }
    *out = &l->base;
    return SF_OK;
}

void sf_view_close(struct sf_store *view)
{
    struct view *v = view_of(view);
    struct sf_local *l;
    if (!v)
        return;
    l = &v->l;
    if (v->has_rows)
        sf_rowset_done(&v->rows);
    if (l->snapshots.now)
        sf_snapshots_done(&l->snapshots);
    if (l->prof_snapshots.now)
        sf_snapshots_done(&l->prof_snapshots);
    sf_snapshot_unref(v->blocks);
    for (size_t i = 0; i < v->n_mems; i++)
        sf_profile_mem_unref(l->lent[i]);
    sf_heap_free(l->lent);
    sf_profile_mem_unref(l->prof);
    sf_runs_done(&l->runs);
    if (l->partials.budget) {
        sf_partials_done(&l->partials);
        sf_doubles_done(&l->doubles);
    }
    for (unsigned i = 0; i < l->n_pool; i++)
        sf_arena_done(&l->pool[i]);
    sf_local_done_locks(l);
    sf_heap_free(v);
}

/* ---- spans ---- */

static enum sf_err view_place(struct view *v, uint32_t tenant, const struct sf_resource *resource,
                              const struct sf_scope *scope, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    if (v->resource != resource || v->tenant != tenant)
        err = sf_rowset_resource(&v->rows, tenant, resource, &v->resource_place, why);
    if (!err && (v->scope != scope || v->tenant != tenant))
        err = sf_rowset_scope(&v->rows, tenant, scope, &v->scope_place, why);
    v->resource = err ? NULL : resource;
    v->scope = err ? NULL : scope;
    v->tenant = tenant;
    return err;
}

enum sf_err sf_view_add_span(struct sf_store *view, uint32_t tenant, const struct sf_span *span,
                             const struct sf_resource *resource, const struct sf_scope *scope,
                             struct sf_why *why)
{
    struct view *v = view_of(view);
    struct sf_span s = *span;
    int64_t at_ns = s.start_ns > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)s.start_ns;
    enum sf_err err;
    if (!v->has_rows && !sf_rowset_init(&v->rows, ROWS_CAP, DATA_CAP))
        return sf_no_memory(why, "rows of other nodes");
    v->has_rows = true;
    err = view_place(v, tenant, resource, scope, why);
    if (err)
        return err;
    s.resource = v->resource_place;
    s.scope = v->scope_place;
    return sf_rowset_add(&v->rows, tenant, &s, at_ns, sf_batch_rows_end(s.end_ns, at_ns, INT64_MAX),
                         why);
}

void sf_view_begin_tables(struct sf_store *view)
{
    view_of(view)->resource = NULL;
    view_of(view)->scope = NULL;
}

size_t sf_view_n_spans(const struct sf_store *view)
{
    const struct view *v = (const struct view *)view;
    return v->has_rows ? v->rows.n_rows : 0;
}

enum sf_err sf_view_seal(struct sf_store *view, struct sf_why *why)
{
    struct view *v = view_of(view);
    struct sf_run *part = NULL;
    enum sf_err err = v->has_rows ? sf_seal_rows(&v->l, &v->rows, 0, &part, why) : SF_OK;
    if (!err && part) {
        err = sf_snapshot_change(&v->l.snapshots,
                                 &(struct sf_snapshot_change){.in = &part, .n_in = 1}, why);
        if (err)
            sf_run_unref(part);
    }
    if (v->has_rows)
        sf_rowset_done(&v->rows);
    v->has_rows = false;
    return err;
}

static bool is_in_range(const struct sf_run *run, int64_t from_ns, int64_t to_ns)
{
    return run->row.ts_min_ns <= to_ns && run->row.ts_max_ns >= from_ns;
}

static bool has_history(const struct sf_snapshot *s, uint64_t lsn, int64_t from_ns, int64_t to_ns)
{
    for (size_t i = 0; lsn && i < s->n; i++) {
        const struct sf_run *run = s->runs[i];
        if (!sf_run_is_part(run) && run->row.lsn_lo <= lsn && is_in_range(run, from_ns, to_ns))
            return true;
    }
    return false;
}

/* A part whose records are not known may have any. */
static bool is_recent(const struct sf_run *run, uint64_t lsn)
{
    return run->row.lsn_hi > lsn || (sf_run_is_part(run) && run->row.lsn_hi == 0);
}

static enum sf_err lend_run(struct sf_local *l, struct sf_run *run, struct sf_why *why)
{
    struct sf_run *ref = sf_run_ref(run);
    enum sf_err err = sf_snapshot_change(&l->snapshots,
                                         &(struct sf_snapshot_change){.in = &ref, .n_in = 1}, why);
    if (err)
        sf_run_unref(ref);
    return err;
}

enum sf_err sf_view_lend_recent(struct sf_store *view, const struct sf_query_ctx *q, uint64_t lsn,
                                uint64_t history_lsn, int64_t from_ns, int64_t to_ns,
                                bool *out_is_all, struct sf_why *why)
{
    struct view *v = view_of(view);
    struct sf_snapshot *now;
    enum sf_err err = sf_seal_for_reader(v->of, q, why);
    *out_is_all = false;
    if (err)
        return err;
    now = sf_snapshot_take(&v->of->snapshots);
    *out_is_all = sf_tombstones_n(now->tombstones) == 0 &&
                  !has_history(now, history_lsn, from_ns, to_ns);
    for (size_t i = 0; *out_is_all && !err && i < now->n; i++) {
        struct sf_run *run = now->runs[i];
        if (is_recent(run, lsn) && is_in_range(run, from_ns, to_ns))
            err = lend_run(&v->l, run, why);
    }
    sf_snapshot_unref(now);
    return err;
}

/* ---- profiles ---- */

enum sf_err sf_view_add_profiles(struct sf_store *view, uint32_t tenant,
                                 const struct sf_profile_batch *profiles, struct sf_why *why)
{
    struct sf_profile_mem *m = view_of(view)->l.prof;
    struct sf_batch b = {.log = {.tenant = tenant}, .profiles = profiles};
    /* Latest possible receive time, so that no time is adjusted. */
    struct sf_profile_index index = {.recv_ns = INT64_MAX};
    enum sf_err err;
    sf_mutex_lock(&m->lock);
    err = sf_profile_mem_add(m, &b, &index, why);
    if (err)
        sf_profile_mem_undo(m);
    else
        sf_profile_mem_keep(m);
    sf_mutex_unlock(&m->lock);
    return err;
}

static uint64_t oldest_lsn(const struct sf_local *l)
{
    uint64_t lsn = l->prof->after_lsn;
    for (const struct sf_profile_mem *m = l->flushing; m; m = m->next)
        lsn = m->after_lsn < lsn ? m->after_lsn : lsn;
    return lsn;
}

uint64_t sf_view_memory_lsn(struct sf_store *store)
{
    struct sf_local *l = (struct sf_local *)store;
    uint64_t lsn;
    sf_mutex_lock(&l->prof_lock);
    lsn = l->prof->after_lsn;
    sf_mutex_unlock(&l->prof_lock);
    return lsn;
}

enum sf_err sf_view_lend_memory(struct sf_store *view, uint64_t *out_lsn, struct sf_why *why)
{
    struct view *v = view_of(view);
    struct sf_local *from = v->of;
    size_t n = 1;
    sf_mutex_lock(&from->prof_lock);
    for (const struct sf_profile_mem *m = from->flushing; m; m = m->next)
        n++;
    v->l.lent = sf_heap_new_n(n, sizeof(struct sf_profile_mem *));
    if (v->l.lent) {
        for (struct sf_profile_mem *m = from->flushing; m; m = m->next)
            v->l.lent[v->n_mems++] = sf_profile_mem_ref(m);
        v->l.lent[v->n_mems++] = sf_profile_mem_ref(from->prof);
        v->l.n_lent = v->n_mems;
        v->blocks = sf_snapshot_take(&from->prof_snapshots);
        *out_lsn = oldest_lsn(from);
    }
    sf_mutex_unlock(&from->prof_lock);
    return v->l.lent ? SF_OK : sf_no_memory(why, "a view");
}

bool sf_view_has_blocks(const struct sf_store *view, uint64_t lsn)
{
    const struct view *v = (const struct view *)view;
    for (size_t i = 0; lsn && v->blocks && i < v->blocks->n; i++) {
        if (v->blocks->runs[i]->row.lsn_lo <= lsn)
            return true;
    }
    return false;
}

void sf_view_lend_blocks(struct sf_store *view)
{
    struct view *v = view_of(view);
    if (!v->blocks)
        return;
    sf_snapshot_unref(v->l.prof_snapshots.now);
    v->l.prof_snapshots.now = v->blocks;
    v->blocks = NULL;
}
