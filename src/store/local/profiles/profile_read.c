/* profile_read.c - visits all profiles of the requested tenants. It takes one consistent view of
 * memory and block list, then visits each service of each block, then those in memory. Time range,
 * tenant, service and tombstones are checked before anything is decoded, and the query's deadline
 * between blocks. */
#include "store/local/profiles/profile_read.h"

#include "base/account.h"
#include "base/heap.h"
#include "base/num.h"
#include "model/process.h"
#include "os/clock.h"
#include "store/local/read/granules.h"

/* Reserved address space; what is used counts for the query's budget. */
#define SCRATCH_CAP ((size_t)1 << 30)

struct seen { /* a consistent view of memory and blocks */
    struct sf_profile_mem **mems;
    size_t n_mems;
    struct sf_snapshot *blocks, *erased;
};

typedef enum sf_err see_fn(void *arg, struct sf_profile_walk *w, struct sf_profile_read_source *s,
                           struct sf_why *why);

static bool profile_read_take(struct sf_local *l, struct seen *s)
{
    size_t n = 1 + l->n_lent;
    sf_mutex_lock(&l->prof_lock);
    for (const struct sf_profile_mem *m = l->flushing; m; m = m->next)
        n++;
    s->mems = sf_heap_new_n(n, sizeof(struct sf_profile_mem *));
    if (s->mems) {
        for (size_t i = 0; i < l->n_lent; i++)
            s->mems[s->n_mems++] = sf_profile_mem_ref(l->lent[i]);
        for (struct sf_profile_mem *m = l->flushing; m; m = m->next)
            s->mems[s->n_mems++] = sf_profile_mem_ref(m);
        s->mems[s->n_mems++] = sf_profile_mem_ref(l->prof);
        s->blocks = sf_snapshot_take(&l->prof_snapshots);
    }
    sf_mutex_unlock(&l->prof_lock);
    if (s->mems)
        s->erased = sf_snapshot_take(&l->snapshots);
    return s->mems != NULL;
}

static void profile_read_give_back(struct seen *s)
{
    for (size_t i = 0; i < s->n_mems; i++)
        sf_profile_mem_unref(s->mems[i]);
    sf_heap_free(s->mems);
    sf_snapshot_unref(s->blocks);
    sf_snapshot_unref(s->erased);
}

static bool is_asked_tenant(const struct sf_query_ctx *q, uint32_t tenant)
{
    for (size_t i = 0; i < q->n_tenants; i++) {
        if (q->tenants[i] == tenant)
            return true;
    }
    return false;
}

static bool profile_read_may_overlap(const struct sf_profile_walk *w, int64_t min_ns,
                                     int64_t max_ns)
{
    return (w->from_ns == 0 && w->to_ns == 0) || (min_ns <= w->to_ns && max_ns >= w->from_ns);
}

static bool profile_read_is_asked(const struct sf_profile_walk *w, uint32_t tenant, sf_str service)
{
    return is_asked_tenant(w->q, tenant) &&
           (!w->select || w->select->service.len == 0 || sf_str_eq(w->select->service, service));
}

enum sf_err sf_profile_read_check(struct sf_profile_walk *w, struct sf_why *why)
{
    struct sf_query_ctx *q = w->q;
    if (q->cancel && atomic_load_explicit(q->cancel, memory_order_relaxed))
        return sf_fail(why, SF_ERR_CANCELLED, "query: the client disconnected");
    if (q->deadline_ns && sf_clock_mono_ns() > q->deadline_ns)
        return sf_fail(why, SF_ERR_DEADLINE, "query: took too long");
    if (sf_account_has_refused())
        return sf_fail(why, SF_ERR_BUSY, "query: needs more memory than is left; retry");
    return sf_budget_query(&w->l->budget, &w->counted_len, sf_arena_used(&w->scratch), why);
}

static enum sf_err see_mem(struct sf_profile_walk *w, struct sf_profile_mem *m, see_fn *see,
                           void *arg, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    sf_mutex_lock(&m->lock);
    for (uint32_t i = 0; !err && i < m->n_sets; i++) {
        const struct sf_profile_set *set = m->sets[i];
        struct sf_profile_read_source s = {.set = set};
        if (!set || set->n_rows == 0 || !profile_read_is_asked(w, set->tenant, set->service) ||
            !profile_read_may_overlap(w, set->ts_min_ns, set->ts_max_ns))
            continue;
        sf_arena_reset(&w->scratch);
        s.tenant = set->tenant;
        s.service = set->service;
        if (!sf_profile_set_tables_series(set, &w->scratch, &s.series, &s.n_series) ||
            !sf_profile_set_tables_processes(set, &w->scratch, &s.processes, &s.n_processes))
            err = sf_no_room(why, "the query");
        if (!err)
            err = see(arg, w, &s, why);
        if (!err)
            err = sf_profile_read_check(w, why);
    }
    sf_mutex_unlock(&m->lock);
    return err;
}

/* Progress counts blocks only, which are most of the work; memory comes last and is quick. */
static bool may_have(const struct sf_profile_walk *w, const struct sf_run *run)
{
    return profile_read_may_overlap(w, run->row.ts_min_ns, run->row.ts_max_ns) &&
           (!run->row.tenant || is_asked_tenant(w->q, run->row.tenant));
}

static enum sf_err profile_read_check_pace(struct sf_profile_walk *w, const struct sf_run *run,
                                           uint64_t before, uint32_t n_done, uint32_t n,
                                           struct sf_why *why)
{
    int64_t now_ns = sf_clock_mono_ns();
    w->pace.n_done = before + (uint64_t)((double)run->row.len * n_done / n);
    return sf_pace_is_hopeless(&w->pace, now_ns, w->q->deadline_ns)
               ? sf_pace_fail(&w->pace, now_ns, w->q->deadline_ns, why)
               : SF_OK;
}

static enum sf_err see_services(struct sf_profile_walk *w, struct sf_run *run,
                                const struct sf_profile_block_reader *reader,
                                const struct sf_tombstones *tombstones, see_fn *see, void *arg,
                                struct sf_why *why)
{
    uint32_t n;
    const struct sf_profile_service *services = sf_profile_block_reader_services(reader, &n);
    enum sf_err err = SF_OK;
    uint64_t before = w->pace.n_done;
    for (uint32_t i = 0; !err && i < n; i++) {
        struct sf_profile_read_source s = {.reader = reader,
                                           .number = i,
                                           .tenant = services[i].tenant,
                                           .service = services[i].name,
                                           .block_id = run->row.id,
                                           .n_series = services[i].n_series,
                                           .n_processes = services[i].n_processes,
                                           .tombstones = tombstones};
        if (!profile_read_is_asked(w, s.tenant, s.service) ||
            !profile_read_may_overlap(w, services[i].ts_min_ns, services[i].ts_max_ns))
            continue;
        sf_arena_reset(&w->scratch);
        err = sf_profile_tables_decode_series(reader, i, &w->scratch, &s.series, &s.processes, why);
        if (!err)
            err = see(arg, w, &s, why);
        if (!err)
            err = sf_profile_read_check(w, why);
        w->q->stats.n_rows += services[i].n_entries;
        if (!err)
            err = profile_read_check_pace(w, run, before, i + 1, n, why);
    }
    w->pace.n_done = before + run->row.len;
    return err;
}

static enum sf_err profile_read_see_block(struct sf_profile_walk *w, struct sf_run *run,
                                          const struct sf_snapshot *erased, see_fn *see, void *arg,
                                          struct sf_why *why)
{
    const struct sf_profile_block_reader *reader;
    const struct sf_tombstones *tombstones = NULL;
    enum sf_err err;
    if (!may_have(w, run)) {
        w->q->stats.n_skipped++;
        return SF_OK;
    }
    if (sf_tombstones_touch(erased->tombstones, run->row.id, run->row.tenant, run->row.ts_min_ns,
                            run->row.ts_max_ns))
        tombstones = erased->tombstones;
    err = sf_run_enter_profiles(run, &reader, why);
    if (!err) {
        w->q->stats.n_blocks++;
        err = see_services(w, run, reader, tombstones, see, arg, why);
        if (err == SF_ERR_CORRUPT)
            sf_run_quarantine(run, why ? why->text : "damaged");
        sf_run_leave(run);
    }
    if (err == SF_ERR_CORRUPT) {
        sf_granules_query_misses(w->q, run);
        err = SF_OK;
    }
    return err;
}

enum sf_err sf_profile_read_run(struct sf_profile_walk *w, see_fn *see, void *arg,
                                struct sf_why *why)
{
    struct seen s = {0};
    enum sf_err err = SF_OK;
    if (!sf_arena_init(&w->scratch, SCRATCH_CAP) || !profile_read_take(w->l, &s)) {
        sf_arena_done(&w->scratch);
        return sf_fail(why, SF_ERR_NOMEM, "query: no memory to read profiles");
    }
    w->q->is_exact = true;
    w->pace = (struct sf_pace){.began_ns = sf_clock_mono_ns()};
    for (size_t i = 0; i < s.blocks->n; i++)
        w->pace.n_all += may_have(w, s.blocks->runs[i]) ? s.blocks->runs[i]->row.len : 0;
    for (size_t i = 0; !err && i < s.blocks->n; i++)
        err = profile_read_see_block(w, s.blocks->runs[i], s.erased, see, arg, why);
    for (size_t i = 0; !err && i < s.n_mems; i++)
        err = see_mem(w, s.mems[i], see, arg, why);
    profile_read_give_back(&s);
    sf_arena_done(&w->scratch);
    sf_budget_query(&w->l->budget, &w->counted_len, 0, NULL);
    return err;
}

/* Profiles of which only the sum of their slot is left are moved to the start of the slot. */
static enum sf_err find_starts(struct sf_profile_walk *w, struct sf_profile_read_source *s,
                               struct sf_why *why)
{
    int64_t *starts = sf_arena_new_n(&w->scratch, (size_t)s->n_rows + 1, sizeof(*starts));
    bool *is_alone = sf_arena_new_n(&w->scratch, (size_t)s->n_rows + 1, sizeof(*is_alone));
    enum sf_err err = starts && is_alone ? sf_profile_read_source_places(w, s, why)
                                         : sf_no_room(why, "the query");
    if (err)
        return err;
    for (uint32_t i = 0; i < s->n_rows; i++)
        starts[i] = s->rows[i].time_ns;
    for (uint32_t i = 0; i < s->places.n_chunks; i++) {
        const struct sf_profile_chunk *c = &s->places.chunks[i];
        int64_t slot = sf_profile_slot(s->rows[c->first_row].index_ns);
        for (uint32_t k = 0; k < c->n_rows && sf_profile_chunk_is_alone(&s->places, i); k++) {
            starts[c->first_row + k] = sf_mul_sat_i64(slot, SF_PROFILE_SLOT_NS);
            is_alone[c->first_row + k] = true;
        }
    }
    s->starts = starts;
    s->is_alone = is_alone;
    return SF_OK;
}

enum sf_err sf_profile_read_source_rows(struct sf_profile_walk *w, struct sf_profile_read_source *s,
                                        struct sf_why *why)
{
    uint32_t n;
    if (s->rows)
        return SF_OK;
    if (s->set) {
        s->rows = s->set->rows;
        s->n_rows = s->set->n_rows;
        return SF_OK;
    }
    s->n_rows = sf_profile_block_reader_services(s->reader, &n)[s->number].n_rows;
    enum sf_err err = sf_profile_tables_decode_rows(s->reader, s->number, &w->scratch, &s->rows,
                                                    why);
    bool has_alone = sf_profile_block_reader_services(s->reader, &n)[s->number].n_alone != 0;
    return err || !has_alone ? err : find_starts(w, s, why);
}

enum sf_err sf_profile_read_source_symbols(struct sf_profile_walk *w,
                                           struct sf_profile_read_source *s, struct sf_why *why)
{
    if (s->symbols.nodes)
        return SF_OK;
    if (s->set)
        return sf_profile_set_tables_symbols(s->set, &w->scratch, &s->symbols)
                   ? SF_OK
                   : sf_no_room(why, "the query");
    return sf_profile_tables_decode_symbols(s->reader, s->number, &w->scratch, &s->symbols, why);
}

enum sf_err sf_profile_read_source_places(struct sf_profile_walk *w,
                                          struct sf_profile_read_source *s, struct sf_why *why)
{
    return s->places.chunks ? SF_OK
                            : sf_profile_tables_decode_places(s->reader, s->number, &w->scratch,
                                                              &s->places, why);
}

enum sf_err sf_profile_read_source_threads(struct sf_profile_walk *w,
                                           struct sf_profile_read_source *s, struct sf_why *why)
{
    if (s->threads)
        return SF_OK;
    if (!s->set)
        return sf_profile_tables_decode_threads(s->reader, s->number, &w->scratch, &s->threads,
                                                &s->n_threads, why);
    return sf_profile_threads_list(s->set, &w->scratch, &s->threads, &s->n_threads)
               ? SF_OK
               : sf_no_room(why, "the query");
}

bool sf_profile_read_source_hides(const struct sf_profile_read_source *s, sf_trace_id trace,
                                  int64_t at_ns)
{
    return s->tombstones && sf_tombstones_hide(s->tombstones, s->block_id, s->tenant, trace,
                                               s->service, at_ns < 0 ? 0 : (uint64_t)at_ns);
}

static bool is_single(const struct sf_prof_query *query, const struct sf_profile_read_source *s,
                      const struct sf_profile_row *row)
{
    sf_profile_id id = sf_profile_select_row_id(s->service, &s->series[row->series], row);
    if (query->n_profiles == 0)
        return true;
    for (size_t i = 0; i < query->n_profiles; i++) {
        if (memcmp(&query->profiles[i], &id, sizeof(id)) == 0)
            return true;
    }
    return false;
}

static bool profile_read_is_in_range(const struct sf_prof_query *query, int64_t start_ns)
{
    return start_ns >= query->from_ns && start_ns < query->to_ns;
}

static bool profile_read_is_in_time(const struct sf_prof_query *query, struct sf_query_ctx *q,
                                    const struct sf_profile_read_source *s, uint32_t row)
{
    int64_t time_ns = s->rows[row].time_ns, start_ns = sf_profile_source_start(s, row);
    if (query->from_ns == 0 && query->to_ns == 0)
        return true;
    if (query->select == SF_PROF_OVERLAP)
        return time_ns <= query->to_ns &&
               sf_add_sat_i64(time_ns, s->rows[row].duration_ns) >= query->from_ns;
    if (profile_read_is_in_range(query, start_ns) != profile_read_is_in_range(query, time_ns))
        q->is_exact = false;
    return profile_read_is_in_range(query, start_ns);
}

static bool is_of_process(const struct sf_prof_query *query, const struct sf_profile_read_source *s,
                          uint32_t process)
{
    return query->process == 0 ||
           (process != SF_NONE &&
            sf_process_hash(s->service, s->processes[process].key) == query->process);
}

bool sf_profile_read_source_is_asked(const struct sf_prof_query *query, struct sf_query_ctx *q,
                                     const struct sf_profile_read_source *s, uint32_t row)
{
    static const sf_trace_id NO_TRACE = {{0}};
    const struct sf_profile_row *r = &s->rows[row];
    return profile_read_is_in_time(query, q, s, row) && is_of_process(query, s, r->process) &&
           is_single(query, s, r) && !sf_profile_read_source_hides(s, NO_TRACE, r->time_ns);
}

void sf_profile_read_range(struct sf_profile_walk *w, const struct sf_prof_query *query)
{
    w->from_ns = query->from_ns;
    w->to_ns = query->to_ns;
    /* A slot may start before the range. */
    if (query->select == SF_PROF_RANGE && (w->from_ns || w->to_ns))
        w->to_ns = sf_add_sat_i64(w->to_ns, SF_PROFILE_SLOT_NS);
}
