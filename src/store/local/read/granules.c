#include "store/local/read/granules.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/account.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/time_unit.h"
#include "block/span/granule_view.h"
#include "os/clock.h"
#include "store/local/write/seal.h"

enum {
    ARENA_CAP = 1 << 30, /* reserved address space */
    POOL_LEN = 8 << 20,  /* pages that a pooled arena keeps; not counted in the budget */
};
#define ALL_ROWS UINT32_MAX
#define CHECK_NS (10 * SF_NS_PER_MS)

void sf_granules_init(struct sf_granules *g, struct sf_local *l, struct sf_query_ctx *q,
                      const struct sf_key *want_keys, size_t n_want)
{
    *g = (struct sf_granules){.l = l, .q = q, .want_keys = want_keys, .n_want = n_want};
    g->cap_len = l->budget.cap[SF_LINE_QUERIES] / 2;
}

static void granules_drop(struct sf_granules *g, struct sf_granule *s)
{
    if (s->run) {
        sf_run_leave(s->run);
        sf_run_unref(s->run);
        s->run = NULL;
    }
    (void)sf_budget_query(&g->l->budget, &g->held_len, g->held_len - s->counted_len, NULL);
    s->counted_len = 0;
    s->arena.at = 0; /* keep the memory for the next granule */
}

bool sf_granules_take_arena(struct sf_local *l, struct sf_arena *out)
{
    *out = (struct sf_arena){0};
    sf_mutex_lock(&l->pool_lock);
    if (l->n_pool)
        *out = l->pool[--l->n_pool];
    sf_mutex_unlock(&l->pool_lock);
    if (!out->base)
        return sf_arena_init(out, ARENA_CAP);
    if (sf_arena_borrow(out))
        return true;
    sf_arena_done(out);
    return false;
}

void sf_granules_give_arena(struct sf_local *l, struct sf_arena *a)
{
    if (!a->base)
        return;
    sf_arena_lend(a, POOL_LEN);
    sf_mutex_lock(&l->pool_lock);
    if (l->n_pool < sizeof(l->pool) / sizeof(l->pool[0])) {
        l->pool[l->n_pool++] = *a;
        *a = (struct sf_arena){0};
    }
    sf_mutex_unlock(&l->pool_lock);
    sf_arena_done(a);
}

void sf_granules_done(struct sf_granules *g)
{
    for (unsigned i = 0; i < SF_GRANULES_MAX && g->l; i++) {
        granules_drop(g, &g->slots[i]);
        sf_granules_give_arena(g->l, &g->slots[i].arena);
    }
    *g = (struct sf_granules){0};
}

/* A slot for one more granule: a free one if memory allows, otherwise the least recently used one;
 * never one of the two newest, which the caller may be using. */
static struct sf_granule *granules_find_slot(struct sf_granules *g)
{
    struct sf_granule *empty = NULL, *oldest = NULL;
    size_t len = 0;
    unsigned n_used = 0;
    for (unsigned i = 0; i < SF_GRANULES_MAX; i++) {
        struct sf_granule *s = &g->slots[i];
        if (!s->run) {
            empty = empty ? empty : s;
            continue;
        }
        n_used++;
        len += s->counted_len;
        if (!oldest || s->used_at < oldest->used_at)
            oldest = s;
    }
    if (empty && (n_used < 2 || len < g->cap_len))
        return empty;
    granules_drop(g, oldest);
    return oldest;
}

/* Counts the memory of a slot. One granule is always allowed, since otherwise the query could never
 * be answered; further ones only if the budget allows. */
static enum sf_err count_slot(struct sf_granules *g, const struct sf_granule *s, struct sf_why *why)
{
    bool is_only = g->held_len == 0;
    enum sf_err err = sf_budget_query(&g->l->budget, &g->held_len, g->held_len + s->counted_len,
                                      is_only ? NULL : why);
    for (unsigned i = 0; err && !is_only && i < SF_GRANULES_MAX; i++) {
        struct sf_granule *other = &g->slots[i];
        if (other != s && other->run && other->used_at + 1 < s->used_at) {
            granules_drop(g, other);
            err = sf_budget_query(&g->l->budget, &g->held_len, g->held_len, why);
        }
    }
    return is_only ? SF_OK : err;
}

static enum sf_err granules_read_rows(struct sf_granules *g,
                                      const struct sf_span_block_reader *reader,
                                      struct sf_granule *s, struct sf_why *why)
{
    struct sf_granule_view v;
    if (s->from == 0 && s->to == ALL_ROWS)
        return sf_granule_view_read(reader, s->granule, s->columns, g->want_keys, g->n_want,
                                    &s->arena, &s->rows, why);
    v = sf_granule_view_init(reader, s->granule, &s->arena);
    return sf_granule_view_part(&v, s->columns | SF_COL_IDS, g->want_keys, g->n_want, s->from,
                                s->to, &s->rows, why);
}

enum sf_err sf_granules_part(struct sf_granules *g, struct sf_run *run, uint32_t granule,
                             uint32_t from, uint32_t to, uint32_t columns,
                             const struct sf_span_rows **out, struct sf_why *why)
{
    const struct sf_span_block_reader *reader;
    struct sf_granule *s;
    enum sf_err err;

    for (unsigned i = 0; i < SF_GRANULES_MAX; i++) {
        s = &g->slots[i];
        if (s->run == run && s->granule == granule && s->from == from && s->to == to &&
            (columns & ~s->columns) == 0) {
            s->used_at = ++g->tick;
            *out = &s->rows;
            return SF_OK;
        }
    }
    err = sf_granules_query_check(g->q, why);
    if (err)
        return err;
    s = granules_find_slot(g);
    if (!s->arena.base && !sf_granules_take_arena(g->l, &s->arena))
        return sf_fail(why, SF_ERR_NOMEM, "query: no memory for a granule");
    err = sf_run_enter(run, SF_TABLES_ROWS, &reader, why);
    if (err)
        return err;
    s->granule = granule;
    s->columns = columns;
    s->from = from;
    s->to = to;
    err = granules_read_rows(g, reader, s, why);
    if (err) {
        s->arena.at = 0;
        sf_run_leave(run);
        return err;
    }
    s->run = sf_run_ref(run);
    s->used_at = ++g->tick;
    s->counted_len = sf_arena_used(&s->arena);
    err = count_slot(g, s, why);
    if (err)
        return err;
    g->q->stats.n_rows += s->rows.n_rows;
    *out = &s->rows;
    return SF_OK;
}

bool sf_granules_has(const struct sf_granules *g, const struct sf_run *run, uint32_t granule)
{
    for (unsigned i = 0; i < SF_GRANULES_MAX; i++)
        if (g->slots[i].run == run && g->slots[i].granule == granule)
            return true;
    return false;
}

enum sf_err sf_granules_get(struct sf_granules *g, struct sf_run *run, uint32_t granule,
                            uint32_t columns, const struct sf_span_rows **out, struct sf_why *why)
{
    return sf_granules_part(g, run, granule, 0, ALL_ROWS, columns, out, why);
}

enum sf_err sf_granules_query_open(struct sf_local *l, struct sf_query_ctx *q, bool is_fresh,
                                   size_t len, void **out, struct sf_why *why)
{
    void *cursor;
    if (sf_budget_is_over(&l->budget, SF_LINE_QUERIES))
        return sf_fail(why, SF_ERR_BUSY, "query: the memory for queries is used up; try again");
    if (is_fresh) {
        enum sf_err err = sf_seal_for_reader(l, q, why);
        if (err)
            return err;
    }
    cursor = sf_heap_new(len);
    if (!cursor)
        return sf_fail(why, SF_ERR_NOMEM, "query: no memory for a cursor");
    q->is_exact = true;
    *out = cursor;
    return SF_OK;
}

enum sf_err sf_granules_query_check(const struct sf_query_ctx *q, struct sf_why *why)
{
    if (q->cancel && atomic_load(q->cancel))
        return sf_fail(why, SF_ERR_CANCELLED, "query: the client disconnected");
    if (q->deadline_ns && sf_clock_mono_ns() > q->deadline_ns)
        return sf_fail(why, SF_ERR_DEADLINE, "query: took too long; narrow the time range");
    if (sf_account_has_refused())
        return sf_fail(why, SF_ERR_BUSY, "query: needs more memory than is left; retry");
    return SF_OK;
}

enum sf_err sf_granules_query_wait(const struct sf_query_ctx *q, struct sf_condvar *s,
                                   struct sf_mutex *m, struct sf_why *why)
{
    int64_t until_ns = sf_clock_mono_ns() +
                       CHECK_NS; /* poll, since a disconnecting caller does not wake this thread */
    if (q->deadline_ns && q->deadline_ns < until_ns)
        until_ns = q->deadline_ns;
    (void)sf_condvar_wait_until(s, m, until_ns);
    return sf_granules_query_check(q, why);
}

bool sf_granules_query_skips(struct sf_query_ctx *q, struct sf_run *run, enum sf_err err,
                             const struct sf_why *why)
{
    if (err != SF_ERR_CORRUPT)
        return false;
    sf_run_quarantine(run, why->text);
    sf_granules_query_misses(q, run);
    return true;
}

void sf_granules_query_misses(struct sf_query_ctx *q, const struct sf_run *run)
{
    char what[64];
    q->is_exact = false;
    snprintf(what, sizeof(what), "block %" PRIu64 " is damaged", run->row.id);
    sf_unread_add(q->unread, run->row.id, what);
}

bool sf_granules_query_has_tenant(const struct sf_query_ctx *q, uint32_t tenant)
{
    for (size_t i = 0; i < q->n_tenants; i++) {
        if (tenant == 0 || q->tenants[i] == tenant)
            return true;
    }
    return false;
}
