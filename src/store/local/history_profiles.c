/* history_profiles.c - turns the profiles of a block back into a batch with tables: one series for
 * each profile, one sample for each stack of a profile, and the samples with ids or times of their
 * own. Where only the sum of a slot is left, it becomes the stacks of the slot's first profile. */
#include "store/local/history_profiles.h"

#include <string.h>

#include "base/table.h"

enum { PIECE_ENTRIES = 100000, PIECE_GRANULES = 24 };

struct reading {
    const struct sf_profile_block_reader *r;
    const struct sf_history_cut *cut;
    struct sf_arena *arena;
    const struct sf_profile_service *service;
    const struct sf_profile_series *series;
    const struct sf_process *processes;
    const struct sf_profile_row *rows;
    struct sf_profile_places places;
    struct sf_profile_symbols y;
    uint32_t *stacks; /* by node: its stack, plus one */
    struct sf_stack *list;
    uint32_t n_stacks;
    uint32_t *path;
    struct sf_series *out_series;
    struct sf_history_total *totals;
    uint32_t n_series;
    const struct sf_profile_thread *threads;
    uint32_t n_threads;
};

/* ---- pieces ---- */

/* The end of a piece of chunks that begins with chunk `at`. The chunks of a slot stay together. */
static uint32_t history_profiles_end(const struct sf_profile_places *p, uint32_t at)
{
    uint64_t n = 0;
    uint32_t to = at;
    while (to < p->n_chunks && (to == at || n + p->chunks[to].n_entries <= PIECE_ENTRIES ||
                                p->chunks[to].first_row == p->chunks[to - 1].first_row))
        n += p->chunks[to++].n_entries;
    return to;
}

static bool history_profiles_cut_service(uint32_t service, const struct sf_profile_places *p,
                                         bool (*see)(void *arg, const struct sf_history_cut *cut),
                                         void *arg)
{
    uint32_t to;
    for (uint32_t from = 0; from == 0 || from < p->n_chunks; from = to) {
        to = history_profiles_end(p, from);
        if (!see(arg, &(struct sf_history_cut){.service = service, .from = from, .to = to}))
            return false;
        if (to == 0)
            break;
    }
    for (uint32_t from = 0; from < p->n_granules; from = to) {
        to = p->n_granules - from > PIECE_GRANULES ? from + PIECE_GRANULES : p->n_granules;
        if (!see(arg, &(struct sf_history_cut){
                          .service = service, .is_detail = true, .from = from, .to = to}))
            return false;
    }
    return true;
}

enum sf_err sf_history_profiles_cut(const struct sf_profile_block_reader *r,
                                    struct sf_arena *scratch,
                                    bool (*see)(void *arg, const struct sf_history_cut *cut),
                                    void *arg, struct sf_why *why)
{
    uint32_t n;
    (void)sf_profile_block_reader_services(r, &n);
    for (uint32_t i = 0; i < n; i++) {
        struct sf_profile_places places;
        enum sf_err err;
        sf_arena_reset(scratch);
        err = sf_profile_tables_decode_places(r, i, scratch, &places, why);
        if (err)
            return err;
        if (!history_profiles_cut_service(i, &places, see, arg))
            break;
    }
    return SF_OK;
}

/* ---- tables ---- */

static enum sf_err history_profiles_put_tables(const struct reading *g, struct sf_profile_batch *b,
                                               struct sf_why *why)
{
    const struct sf_profile_symbols *y = &g->y;
    struct sf_function *functions = sf_arena_new_n(g->arena, (size_t)y->n_functions + 1,
                                                   sizeof(*functions));
    struct sf_mapping *mappings = sf_arena_new_n(g->arena, (size_t)y->n_modules + 1,
                                                 sizeof(*mappings));
    struct sf_location *locations = sf_arena_new_n(g->arena, (size_t)y->n_locations + 1,
                                                   sizeof(*locations));
    if (!functions || !mappings || !locations)
        return sf_no_room(why, "the symbols of a block");
    for (uint32_t i = 0; i < y->n_functions; i++)
        functions[i] = (struct sf_function){.name = y->strings[y->functions[i].name],
                                            .system_name = y->strings[y->functions[i].system_name],
                                            .file = y->strings[y->functions[i].file],
                                            .start_line = y->functions[i].start_line};
    for (uint32_t i = 0; i < y->n_modules; i++)
        mappings[i] = (struct sf_mapping){.file = y->strings[y->modules[i].file],
                                          .build_id = y->strings[y->modules[i].build_id]};
    for (uint32_t i = 0; i < y->n_locations; i++)
        locations[i] = (struct sf_location){.mapping = y->locations[i].module,
                                            .addr = y->locations[i].addr,
                                            .lines = y->lines + y->locations[i].first_line,
                                            .n_lines = y->locations[i].n_lines,
                                            .kind = (uint8_t)y->locations[i].kind};
    *b = (struct sf_profile_batch){.functions = functions,
                                   .n_functions = y->n_functions,
                                   .mappings = mappings,
                                   .n_mappings = y->n_modules,
                                   .locations = locations,
                                   .n_locations = y->n_locations,
                                   .processes = g->processes,
                                   .n_processes = g->service->n_processes};
    return SF_OK;
}

/* The stack of a node, leaf first; made when first needed. */
static enum sf_err history_profiles_stack(struct reading *g, uint32_t node, uint32_t *out,
                                          struct sf_why *why)
{
    uint32_t n = 0, *locations;
    if (g->stacks[node]) {
        *out = g->stacks[node] - 1;
        return SF_OK;
    }
    for (uint32_t i = node; i; i = g->y.nodes[i].parent)
        n++;
    locations = sf_arena_raw(g->arena, ((size_t)n + 1) * sizeof(*locations), sizeof(*locations));
    if (!locations)
        return sf_no_room(why, "the stacks of a block");
    n = 0;
    for (uint32_t i = node; i; i = g->y.nodes[i].parent)
        locations[n++] = g->y.nodes[i].location;
    g->list[g->n_stacks] = (struct sf_stack){.locations = locations, .n = n};
    *out = g->n_stacks++;
    g->stacks[node] = *out + 1;
    return SF_OK;
}

static struct sf_series history_profiles_series(const struct reading *g, uint32_t series,
                                                uint32_t process)
{
    const struct sf_profile_series *s = &g->series[series];
    return (struct sf_series){.service = g->service->name,
                              .type = s->type,
                              .labels = s->labels,
                              .n_labels = s->n_labels,
                              .process = process,
                              .is_request = s->flags & SF_PROFILE_REQUEST,
                              .is_diff = s->flags & SF_PROFILE_DIFF};
}

/* ---- profiles and their stacks ---- */

/* The first row of a piece that begins with this chunk. */
static uint32_t history_profiles_first_row(const struct reading *g, uint32_t chunk)
{
    if (chunk == 0)
        return 0;
    return chunk < g->places.n_chunks ? g->places.chunks[chunk].first_row : g->service->n_rows;
}

static enum sf_err history_profiles_add_chunk(struct reading *g, uint32_t number,
                                              uint32_t first_row, struct sf_sample *samples,
                                              size_t cap, uint32_t *io_n, struct sf_why *why)
{
    const struct sf_profile_chunk *c = &g->places.chunks[number];
    const struct sf_profile_entry *e;
    enum sf_err err;
    size_t n;
    if (c->is_rollup && !sf_profile_chunk_is_alone(&g->places, number))
        return SF_OK; /* the same samples once more, summed */
    err = sf_profile_samples_chunk(g->r, g->cut->service, c, NULL, g->arena, &e, &n, why);
    for (size_t i = 0; !err && i < n && *io_n < cap; i++) {
        struct sf_sample *s = &samples[*io_n];
        uint32_t row = e[i].row - first_row;
        /* The number of events is known only for the whole profile. */
        *s = (struct sf_sample){.series = row, .value = e[i].value};
        if (row < g->n_series) {
            s->count = g->totals[row].n_samples > UINT32_MAX ? UINT32_MAX
                                                             : (uint32_t)g->totals[row].n_samples;
            err = history_profiles_stack(g, e[i].node, &s->stack, why);
            ++*io_n;
        }
    }
    return err;
}

/* Of the samples of a profile only one keeps the count of all. */
static enum sf_err history_profiles_count_once(struct reading *g, struct sf_sample *samples,
                                               uint32_t n, struct sf_why *why)
{
    bool *is_seen = sf_arena_new_n(g->arena, (size_t)g->n_series + 1, sizeof(*is_seen));
    if (!is_seen)
        return sf_no_room(why, "the profiles of a block");
    for (uint32_t i = 0; i < n; i++) {
        if (is_seen[samples[i].series])
            samples[i].count = 0;
        is_seen[samples[i].series] = true;
    }
    return SF_OK;
}

static enum sf_err history_profiles_read_sums(struct reading *g, struct sf_history_profiles *out,
                                              struct sf_why *why)
{
    uint32_t first = history_profiles_first_row(g, g->cut->from),
             end = g->cut->to ? history_profiles_first_row(g, g->cut->to) : g->service->n_rows,
             n = 0;
    struct sf_sample *samples;
    size_t cap = 0;
    enum sf_err err = SF_OK;
    for (uint32_t i = g->cut->from; i < g->cut->to; i++)
        cap += g->places.chunks[i].n_entries;
    samples = sf_arena_new_n(g->arena, cap + 1, sizeof(*samples));
    g->out_series = sf_arena_new_n(g->arena, (size_t)(end - first) + 1, sizeof(*g->out_series));
    g->totals = sf_arena_new_n(g->arena, (size_t)(end - first) + 1, sizeof(*g->totals));
    if (!samples || !g->out_series || !g->totals)
        return sf_no_room(why, "the profiles of a block");
    for (uint32_t i = first; i < end; i++) {
        const struct sf_profile_row *row = &g->rows[i];
        struct sf_series *s = &g->out_series[g->n_series];
        *s = history_profiles_series(g, row->series, row->process);
        s->time_ns = row->time_ns;
        s->duration_ns = row->duration_ns;
        s->period = row->period;
        s->id = row->id;
        g->totals[g->n_series++] = (struct sf_history_total){
            .index_ns = row->index_ns, .value = row->total, .n_samples = row->n_samples};
    }
    for (uint32_t i = g->cut->from; !err && i < g->cut->to; i++)
        err = history_profiles_add_chunk(g, i, first, samples, cap, &n, why);
    if (!err)
        err = history_profiles_count_once(g, samples, n, why);
    out->batch.samples = samples;
    out->batch.n_samples = n;
    out->n_profiles = g->n_series;
    return err;
}

/* ---- samples with ids or times of their own ---- */

/* A series without times for the samples of one process. */
static enum sf_err history_profiles_detail_series(struct reading *g, struct sf_table *at,
                                                  const struct sf_profile_detail *d, uint32_t cap,
                                                  uint32_t *out, struct sf_why *why)
{
    struct sf_table_lookup lookup;
    uint32_t place;
    if (g->n_series == cap || !sf_table_more(at))
        return sf_no_room(why, "the samples of a block");
    lookup = sf_table_lookup(at, sf_key_mix(sf_key_u64(d->series), d->process));
    while (sf_table_next(&lookup, &place)) {
        const struct sf_series *s = &g->out_series[place];
        if (g->totals[place].value == d->series && s->process == d->process) {
            *out = place;
            return SF_OK;
        }
    }
    sf_table_keep(at, &lookup, g->n_series);
    g->out_series[g->n_series] = history_profiles_series(g, d->series, d->process);
    g->totals[g->n_series].value = d->series;
    *out = g->n_series++;
    return SF_OK;
}

static const struct sf_profile_thread *history_profiles_thread(const struct reading *g,
                                                               const struct sf_profile_detail *d)
{
    struct sf_profile_thread key = {.process = d->process, .t = {.thread = d->thread}};
    uint32_t from = 0, to = g->n_threads;
    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        int order = sf_profile_threads_cmp(&g->threads[mid], &key);
        if (order == 0)
            return &g->threads[mid];
        if (order < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return NULL;
}

static enum sf_err history_profiles_add_details(struct reading *g, struct sf_table *at,
                                                uint32_t granule, struct sf_sample *to,
                                                uint32_t cap, uint32_t *io_n, struct sf_why *why)
{
    const struct sf_profile_detail *d;
    uint32_t n = 0;
    enum sf_err err = sf_profile_samples_granule(g->r, g->cut->service, &g->places, granule,
                                                 g->arena, &d, &n, why);
    for (uint32_t i = 0; !err && i < n && *io_n < cap; i++) {
        struct sf_sample *s = &to[*io_n];
        const struct sf_profile_thread *t = history_profiles_thread(g, &d[i]);
        *s = (struct sf_sample){.value = d[i].value,
                                .count = 1,
                                .trace_id = d[i].trace_id,
                                .span_id = d[i].span_id,
                                .thread = d[i].thread,
                                .start_ns = d[i].start_ns,
                                .length_ns = d[i].length_ns,
                                .state = d[i].state,
                                .has_time = d[i].has_time,
                                .is_lent = d[i].is_lent};
        if (t) {
            s->runtime_thread = t->t.runtime_id;
            s->thread_name = t->t.name;
            s->is_kernel_thread = t->t.kernel_id != 0 && t->t.kernel_id == d[i].thread;
        }
        err = history_profiles_stack(g, d[i].node, &s->stack, why);
        if (!err)
            err = history_profiles_detail_series(g, at, &d[i], cap, &s->series, why);
        ++*io_n;
    }
    return err;
}

static enum sf_err history_profiles_read_details(struct reading *g, struct sf_history_profiles *out,
                                                 struct sf_why *why)
{
    struct sf_table at = {0};
    struct sf_sample *details;
    uint32_t cap = 0, n = 0;
    enum sf_err err = sf_profile_tables_decode_threads(g->r, g->cut->service, g->arena, &g->threads,
                                                       &g->n_threads, why);
    for (uint32_t i = g->cut->from; i < g->cut->to; i++)
        cap += g->places.granules[i].n_rows;
    details = sf_arena_new_n(g->arena, (size_t)cap + 1, sizeof(*details));
    g->out_series = sf_arena_new_n(g->arena, (size_t)cap + 1, sizeof(*g->out_series));
    g->totals = sf_arena_new_n(g->arena, (size_t)cap + 1, sizeof(*g->totals));
    if (!details || !g->out_series || !g->totals)
        return sf_no_room(why, "the samples of a block");
    for (uint32_t i = g->cut->from; !err && i < g->cut->to; i++)
        err = history_profiles_add_details(g, &at, i, details, cap + 1, &n, why);
    sf_table_done(&at);
    out->details = details;
    out->n_details = n;
    return err;
}

/* ---- all ---- */

enum sf_err sf_history_profiles_read(const struct sf_profile_block_reader *r,
                                     const struct sf_history_cut *cut, struct sf_arena *arena,
                                     struct sf_history_profiles *out, struct sf_why *why)
{
    struct reading g = {.r = r, .cut = cut, .arena = arena};
    uint32_t n;
    enum sf_err err;
    g.service = &sf_profile_block_reader_services(r, &n)[cut->service];
    *out = (struct sf_history_profiles){0};
    err = sf_profile_tables_decode_series(r, cut->service, arena, &g.series, &g.processes, why);
    if (!err)
        err = sf_profile_tables_decode_symbols(r, cut->service, arena, &g.y, why);
    if (!err)
        err = sf_profile_tables_decode_places(r, cut->service, arena, &g.places, why);
    if (!err && !cut->is_detail)
        err = sf_profile_tables_decode_rows(r, cut->service, arena, &g.rows, why);
    if (err)
        return err;
    if (cut->from > cut->to || cut->to > (cut->is_detail ? g.places.n_granules : g.places.n_chunks))
        return sf_fail(why, SF_ERR_CORRUPT, "the list of moved blocks does not fit its blocks");
    g.stacks = sf_arena_new_n(arena, (size_t)g.y.n_nodes + 1, sizeof(*g.stacks));
    g.list = sf_arena_new_n(arena, (size_t)g.y.n_nodes + 1, sizeof(*g.list));
    if (!g.stacks || !g.list)
        return sf_no_room(why, "the stacks of a block");
    err = history_profiles_put_tables(&g, &out->batch, why);
    if (!err)
        err = cut->is_detail ? history_profiles_read_details(&g, out, why)
                             : history_profiles_read_sums(&g, out, why);
    out->batch.stacks = g.list;
    out->batch.n_stacks = g.n_stacks;
    out->batch.series = g.out_series;
    out->batch.n_series = g.n_series;
    out->totals = cut->is_detail ? NULL : g.totals;
    return err;
}
