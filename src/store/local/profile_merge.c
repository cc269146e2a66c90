/* Windows are hours or days of the profiles' index times. A detail row goes where its profile most
 * likely went: into the last window of its service and block that does not begin after it, else
 * into the first one. So each row is written once, wherever a sender's clock put it. */
#include "store/local/profile_merge.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/num.h"
#include "block/profile_block_reader.h"
#include "block/profile_block_writer.h"
#include "block/profile_set.h"
#include "store/local/block_file.h"

#define ARENA_CAP ((size_t)2 << 30) /* address space; only what is used counts */

struct output {
    uint32_t tenant; /* 0: several */
    int64_t window;
};

struct input {
    struct sf_run *run;
    const struct sf_profile_block_reader *reader;
    const struct sf_profile_service *services;
    uint32_t n_services, at;
};

struct work {
    struct sf_local *l;
    const struct sf_merge *m;
    struct input *inputs;
    size_t n_entered;
    struct output *outputs;
    size_t n_outputs, cap_outputs;
    struct sf_arena arena;
    size_t counted_len;
    struct sf_merged done;
};

struct part { /* what one input has of the service in hand */
    const struct input *in;
    uint32_t service;
    const struct sf_profile_series *series;
    const struct sf_process *processes;
    const struct sf_profile_row *rows;
    struct sf_profile_places places;
    uint32_t *node_map, *series_map, *process_map;
    uint32_t *row_map; /* or SF_NONE: not in this output */
    int64_t *windows;  /* of its rows, rising, without repeats */
    uint32_t n_windows;
};

struct origin { /* of a row of the output */
    const struct sf_profile_row *row;
    uint32_t series, process, part, from;
};

struct ref { /* a chunk that goes into the slot of a row */
    uint32_t row, part, chunk;
};

struct service_work {
    struct work *w;
    const struct output *o;
    struct part *parts;
    uint32_t n_parts;
    struct sf_profile_set *set;
    struct sf_profile_tables t;
    struct sf_profile_row *rows;
    struct ref *refs;
    uint32_t n_refs;
};

static enum sf_err no_memory(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_NOMEM, "store: no memory to merge profiles");
}

static enum sf_err no_room(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "store: profiles to be merged do not fit their memory");
}

static int64_t window_of(const struct work *w, int64_t index_ns)
{
    return w->m->split == SF_SPLIT_DAY ? sf_local_day_of(index_ns) : sf_local_hour_of(index_ns);
}

static bool is_hidden(const struct work *w, const struct input *in, uint32_t tenant, sf_str service,
                      sf_trace_id trace, int64_t at_ns)
{
    return w->m->tombstones && sf_tombstones_hide(w->m->tombstones, in->run->row.id, tenant, trace,
                                                  service, at_ns < 0 ? 0 : (uint64_t)at_ns);
}

/* A damaged input is taken out of use, so that the next merge does without it. */
static enum sf_err blame(const struct input *in, enum sf_err err, const struct sf_why *why)
{
    if (err == SF_ERR_CORRUPT)
        sf_run_quarantine(in->run, why ? why->text : "damaged");
    return err;
}

/* ---- which outputs ---- */

static bool note_output(struct work *w, uint32_t tenant, int64_t window)
{
    if (w->m->split == SF_SPLIT_DAY)
        tenant = 0;
    for (size_t i = 0; i < w->n_outputs; i++) {
        if (w->outputs[i].tenant == tenant && w->outputs[i].window == window)
            return true;
    }
    if (w->n_outputs == w->cap_outputs) {
        size_t cap = w->cap_outputs ? w->cap_outputs * 2 : 16;
        struct output *more = sf_heap_grow(w->outputs, cap, sizeof(*more));
        if (!more)
            return false;
        w->outputs = more;
        w->cap_outputs = cap;
    }
    w->outputs[w->n_outputs++] = (struct output){tenant, window};
    return true;
}

static enum sf_err plan(struct work *w, struct sf_why *why)
{
    static const sf_trace_id NO_TRACE = {{0}};
    for (size_t i = 0; i < w->n_entered; i++) {
        const struct input *in = &w->inputs[i];
        for (uint32_t k = 0; k < in->n_services; k++) {
            const struct sf_profile_service *s = &in->services[k];
            const struct sf_profile_row *rows;
            struct sf_arena tmp = w->arena;
            enum sf_err err = sf_profile_block_rows(in->reader, k, &tmp, &rows, why);
            if (err)
                return blame(in, err, why);
            for (uint32_t n = 0; n < s->n_rows; n++) {
                if (!is_hidden(w, in, s->tenant, s->name, NO_TRACE, rows[n].time_ns) &&
                    !note_output(w, s->tenant, window_of(w, rows[n].index_ns)))
                    return no_memory(why);
            }
        }
    }
    return SF_OK;
}

/* ---- a service: tables ---- */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static bool find_windows(const struct work *w, struct part *p, uint32_t n_rows, struct sf_arena *a)
{
    uint32_t n = 0;
    p->windows = sf_arena_new_n(a, (size_t)n_rows + 1, sizeof(*p->windows));
    if (!p->windows)
        return false;
    for (uint32_t i = 0; i < n_rows; i++) {
        int64_t window = window_of(w, p->rows[i].index_ns);
        if (n == 0 || p->windows[n - 1] != window)
            p->windows[n++] = window;
    }
    if (n)
        qsort(p->windows, n, sizeof(*p->windows), by_number);
    for (uint32_t i = 0; i < n; i++) {
        if (p->n_windows == 0 || p->windows[p->n_windows - 1] != p->windows[i])
            p->windows[p->n_windows++] = p->windows[i];
    }
    return true;
}

/* Reads one input's tables of the service and finds their places in the union. */
static enum sf_err join_part(struct service_work *s, struct part *p, struct sf_why *why)
{
    const struct sf_profile_block_reader *r = p->in->reader;
    const struct sf_profile_service *me = &p->in->services[p->service];
    struct sf_arena *a = &s->w->arena, tmp;
    struct sf_profile_symbols symbols;
    enum sf_err err = sf_profile_block_series(r, p->service, a, &p->series, &p->processes, why);
    if (!err)
        err = sf_profile_block_rows(r, p->service, a, &p->rows, why);
    if (!err)
        err = sf_profile_block_places(r, p->service, a, &p->places, why);
    if (err)
        return blame(p->in, err, why);
    p->node_map = sf_arena_new_n(a, (size_t)me->n_nodes + 1, sizeof(uint32_t));
    p->series_map = sf_arena_new_n(a, (size_t)me->n_series + 1, sizeof(uint32_t));
    p->process_map = sf_arena_new_n(a, (size_t)me->n_processes + 1, sizeof(uint32_t));
    p->row_map = sf_arena_new_n(a, (size_t)me->n_rows + 1, sizeof(uint32_t));
    if (!p->node_map || !p->series_map || !p->process_map || !p->row_map ||
        !find_windows(s->w, p, me->n_rows, a))
        return no_room(why);
    tmp = *a;
    err = blame(p->in, sf_profile_block_symbols(r, p->service, &tmp, &symbols, why), why);
    if (!err)
        err = sf_profile_set_join_symbols(s->set, &symbols, p->node_map, tmp, why);
    if (!err)
        err = sf_profile_set_join_series(s->set, p->series, me->n_series, p->series_map, why);
    if (!err)
        err = sf_profile_set_join_processes(s->set, p->processes, me->n_processes, p->process_map,
                                            why);
    return err;
}

static int by_series(const void *a, const void *b)
{
    const struct origin *x = a, *y = b;
    if (x->series != y->series)
        return x->series < y->series ? -1 : 1;
    if (x->row->index_ns != y->row->index_ns)
        return x->row->index_ns < y->row->index_ns ? -1 : 1;
    if (x->part != y->part)
        return x->part < y->part ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* The rows of this output, in order. */
static enum sf_err order_rows(struct service_work *s, struct sf_why *why)
{
    static const sf_trace_id NO_TRACE = {{0}};
    struct sf_arena tmp;
    struct origin *list;
    size_t n_all = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_parts; i++)
        n_all += s->parts[i].in->services[s->parts[i].service].n_rows;
    s->rows = sf_arena_new_n(&s->w->arena, n_all + 1, sizeof(*s->rows));
    tmp = s->w->arena;
    list = sf_arena_new_n(&tmp, n_all + 1, sizeof(*list));
    if (!s->rows || !list || n_all >= SF_NONE)
        return no_room(why);
    for (uint32_t i = 0; i < s->n_parts; i++) {
        struct part *p = &s->parts[i];
        for (uint32_t k = 0; k < p->in->services[p->service].n_rows; k++) {
            const struct sf_profile_row *row = &p->rows[k];
            p->row_map[k] = SF_NONE;
            if (window_of(s->w, row->index_ns) != s->o->window ||
                is_hidden(s->w, p->in, s->t.tenant, s->t.service, NO_TRACE, row->time_ns))
                continue;
            list[n++] = (struct origin){
                row, p->series_map[row->series],
                row->process == SF_NONE ? SF_NONE : p->process_map[row->process], i, k};
        }
    }
    if (n)
        qsort(list, n, sizeof(*list), by_series);
    for (uint32_t i = 0; i < n; i++) {
        s->rows[i] = *list[i].row;
        s->rows[i].series = list[i].series;
        s->rows[i].process = list[i].process;
        s->parts[list[i].part].row_map[list[i].from] = i;
    }
    s->t.rows = s->rows;
    s->t.n_rows = n;
    return SF_OK;
}

/* ---- a service: samples ---- */

static int by_row(const void *a, const void *b)
{
    const struct ref *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return x->part < y->part ? -1 : x->part > y->part;
}

static enum sf_err order_chunks(struct service_work *s, struct sf_why *why)
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->n_parts; i++)
        n += s->parts[i].places.n_chunks;
    s->refs = sf_arena_new_n(&s->w->arena, n + 1, sizeof(*s->refs));
    if (!s->refs)
        return no_room(why);
    for (uint32_t i = 0; i < s->n_parts; i++) {
        const struct part *p = &s->parts[i];
        for (uint32_t k = 0; k < p->places.n_chunks; k++) {
            const struct sf_profile_chunk *c = &p->places.chunks[k];
            uint32_t row = SF_NONE;
            for (uint32_t j = 0; !c->is_rollup && j < c->n_rows && row == SF_NONE; j++)
                row = p->row_map[c->first_row + j];
            if (row != SF_NONE)
                s->refs[s->n_refs++] = (struct ref){row, i, k};
        }
    }
    if (s->n_refs)
        qsort(s->refs, s->n_refs, sizeof(*s->refs), by_row);
    return SF_OK;
}

struct gathered {
    struct sf_profile_entry *list;
    size_t n, cap;
};

static int by_node(const void *a, const void *b)
{
    const struct sf_profile_entry *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static enum sf_err gather_chunk(struct service_work *s, const struct ref *ref, struct gathered *g,
                                struct sf_why *why)
{
    const struct part *p = &s->parts[ref->part];
    struct sf_arena tmp = s->w->arena;
    const struct sf_profile_entry *e;
    size_t n;
    enum sf_err err = sf_profile_block_chunk(p->in->reader, p->service,
                                             &p->places.chunks[ref->chunk], &tmp, &e, &n, why);
    if (err)
        return blame(p->in, err, why);
    if (n > g->cap - g->n) {
        size_t cap = (g->n + n) * 2;
        struct sf_profile_entry *more = sf_heap_grow(g->list, cap, sizeof(*more));
        if (!more)
            return no_memory(why);
        g->list = more;
        g->cap = cap;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t row = p->row_map[e[i].row];
        if (row != SF_NONE)
            g->list[g->n++] = (struct sf_profile_entry){p->node_map[e[i].node], row, e[i].value};
    }
    return SF_OK;
}

static enum sf_err write_samples(struct service_work *s, struct sf_profile_block_writer *to,
                                 struct sf_why *why)
{
    struct gathered g = {0};
    enum sf_err err = order_chunks(s, why);
    uint32_t at = 0;
    for (uint32_t row = 0, end; !err && row < s->t.n_rows; row = end) {
        end = sf_profile_slot_end(s->rows, s->t.n_rows, row);
        g.n = 0;
        while (!err && at < s->n_refs && s->refs[at].row < end)
            err = gather_chunk(s, &s->refs[at++], &g, why);
        if (err || g.n == 0)
            continue;
        qsort(g.list, g.n, sizeof(*g.list), by_node);
        err = sf_profile_block_writer_slot(to, s->rows, row, end - row, g.list, g.n, why);
        if (atomic_load(&s->w->l->is_stopping))
            err = sf_fail(why, SF_ERR_CANCELLED, "store: stopping");
    }
    sf_heap_free(g.list);
    return err;
}

/* ---- a service: details ---- */

struct details {
    struct sf_profile_detail *list;
    size_t n, cap;
};

static int by_thread(const void *a, const void *b)
{
    return sf_profile_detail_cmp(a, b);
}

static bool is_of_output(const struct service_work *s, const struct part *p, int64_t start_ns)
{
    int64_t window = window_of(s->w, start_ns);
    uint32_t at = 0;
    while (at + 1 < p->n_windows && p->windows[at + 1] <= window)
        at++;
    return p->n_windows && p->windows[at] == s->o->window;
}

static enum sf_err gather_details(struct service_work *s, const struct part *p, uint32_t granule,
                                  uint32_t process, struct details *to, struct sf_why *why)
{
    struct sf_arena tmp = s->w->arena;
    const struct sf_profile_detail *d;
    uint32_t n;
    enum sf_err err = sf_profile_block_granule(p->in->reader, p->service, &p->places, granule, &tmp,
                                               &d, &n, why);
    if (err)
        return blame(p->in, err, why);
    for (uint32_t i = 0; !err && i < n; i++) {
        if ((d[i].process == SF_NONE ? SF_NONE : p->process_map[d[i].process]) != process ||
            !is_of_output(s, p, d[i].start_ns) ||
            is_hidden(s->w, p->in, s->t.tenant, s->t.service, d[i].trace_id, d[i].start_ns))
            continue;
        if (to->n == to->cap) {
            size_t cap = to->cap ? to->cap * 2 : 4096;
            struct sf_profile_detail *more = sf_heap_grow(to->list, cap, sizeof(*more));
            if (!more)
                return no_memory(why);
            to->list = more;
            to->cap = cap;
        }
        to->list[to->n] = d[i];
        to->list[to->n].process = process;
        to->list[to->n].series = p->series_map[d[i].series];
        to->list[to->n++].node = p->node_map[d[i].node];
    }
    return err;
}

/* Process by process, so that the rows of one are in memory. */
static enum sf_err write_process(struct service_work *s, struct sf_profile_block_writer *to,
                                 uint32_t process, struct details *d, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    d->n = 0;
    for (uint32_t i = 0; !err && i < s->n_parts; i++) {
        const struct part *p = &s->parts[i];
        uint32_t own = 0, n_own = p->in->services[p->service].n_processes;
        while (process != SF_NONE && own < n_own && p->process_map[own] != process)
            own++;
        if (process != SF_NONE && own == n_own)
            continue;
        own = process == SF_NONE ? 0 : own + 1; /* as granules say it */
        for (uint32_t k = 0; !err && k < p->places.n_granules; k++) {
            const struct sf_profile_granule *g = &p->places.granules[k];
            if (own >= g->first_process && own <= g->last_process)
                err = gather_details(s, p, k, process, d, why);
        }
    }
    if (!err && d->n) {
        qsort(d->list, d->n, sizeof(*d->list), by_thread);
        err = sf_profile_block_writer_detail(to, d->list, d->n, why);
    }
    return err;
}

static enum sf_err write_details(struct service_work *s, struct sf_profile_block_writer *to,
                                 struct sf_why *why)
{
    struct details d = {0};
    enum sf_err err = write_process(s, to, SF_NONE, &d, why);
    for (uint32_t i = 0; !err && i < s->t.n_processes; i++)
        err = write_process(s, to, i, &d, why);
    sf_heap_free(d.list);
    return err;
}

static enum sf_err write_service(struct service_work *s, struct sf_profile_block_writer *to,
                                 struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && i < s->n_parts; i++)
        err = join_part(s, &s->parts[i], why);
    if (!err)
        err = order_rows(s, why);
    if (err || s->t.n_rows == 0)
        return err;
    if (!sf_profile_set_symbols(s->set, &s->w->arena, &s->t.symbols) ||
        !sf_profile_set_series(s->set, &s->w->arena, &s->t.series, &s->t.n_series) ||
        !sf_profile_set_processes(s->set, &s->w->arena, &s->t.processes, &s->t.n_processes))
        return no_room(why);
    err = sf_profile_block_writer_begin(to, &s->t, why);
    if (!err)
        err = write_samples(s, to, why);
    if (!err)
        err = write_details(s, to, why);
    return err ? err : sf_profile_block_writer_end(to, why);
}

/* ---- an output ---- */

static int compare_services(const struct sf_profile_service *x, const struct sf_profile_service *y)
{
    if (x->tenant != y->tenant)
        return x->tenant < y->tenant ? -1 : 1;
    return sf_str_cmp(x->name, y->name);
}

/* The next service that any input has, and how many have it; the inputs step past it. */
static uint32_t next_service(struct work *w, const struct output *o, struct part *parts,
                             const struct sf_profile_service **out)
{
    const struct sf_profile_service *least = NULL;
    uint32_t n = 0;
    for (size_t i = 0; i < w->n_entered; i++) {
        struct input *in = &w->inputs[i];
        while (o->tenant && in->at < in->n_services && in->services[in->at].tenant != o->tenant)
            in->at++;
        if (in->at < in->n_services &&
            (!least || compare_services(&in->services[in->at], least) < 0))
            least = &in->services[in->at];
    }
    for (size_t i = 0; least && i < w->n_entered; i++) {
        struct input *in = &w->inputs[i];
        if (in->at < in->n_services && compare_services(&in->services[in->at], least) == 0)
            parts[n++] = (struct part){.in = in, .service = in->at++};
    }
    *out = least;
    return n;
}

static void count_memory(struct work *w, const struct sf_profile_set *set)
{
    size_t len = sf_arena_used(&w->arena) + (set ? sf_profile_set_memory(set) : 0);
    sf_budget_sub(&w->l->budget, SF_LINE_MERGE, w->counted_len);
    sf_budget_add(&w->l->budget, SF_LINE_MERGE, len);
    w->counted_len = len;
}

static enum sf_err write_services(struct work *w, const struct output *o,
                                  struct sf_profile_block_writer *to, struct sf_why *why)
{
    struct part *parts = sf_heap_new_n(w->n_entered + 1, sizeof(*parts));
    const struct sf_profile_service *me;
    enum sf_err err = parts ? SF_OK : no_memory(why);
    uint32_t n;
    for (size_t i = 0; i < w->n_entered; i++)
        w->inputs[i].at = 0;
    while (!err && (n = next_service(w, o, parts, &me))) {
        struct service_work s = {.w = w,
                                 .o = o,
                                 .parts = parts,
                                 .n_parts = n,
                                 .t = {.tenant = me->tenant, .service = me->name}};
        sf_arena_reset(&w->arena);
        s.set = sf_profile_set_new(me->tenant, me->name);
        err = s.set ? write_service(&s, to, why) : no_memory(why);
        count_memory(w, s.set);
        sf_profile_set_free(s.set);
    }
    sf_heap_free(parts);
    return err;
}

static enum sf_err write_output(struct work *w, size_t number, const uint64_t *sources,
                                const uint64_t *dups, size_t n_dups, struct sf_why *why)
{
    struct sf_local *l = w->l;
    const struct output *o = &w->outputs[number];
    struct sf_file file = SF_FILE_NONE;
    struct sf_profile_block_writer *writer = NULL;
    struct sf_span_block_info info = {0};
    struct sf_block_row row = {
        .id = w->done.next_id + number,
        .tenant = o->tenant,
        .kind = SF_BLOCK_PROFILES,
        .level = w->m->level,
        .state = SF_BLOCK_LIVE,
        .day = w->m->split == SF_SPLIT_DAY ? o->window
                                           : sf_local_day_of(o->window * SF_NS_PER_HOUR),
        .lsn_lo = w->m->lsn_lo,
        .lsn_hi = w->m->lsn_hi,
        .flush_no = w->done.flush_no,
        .created_ns = sf_local_wall_ns(l),
    };
    struct sf_profile_block_options options = {
        .info = {.block_id = row.id,
                 .level = row.level,
                 .tenant = row.tenant,
                 .lsn_lo = row.lsn_lo,
                 .lsn_hi = row.lsn_hi,
                 .created_ns = row.created_ns,
                 .flush_no = row.flush_no,
                 .n_siblings = sf_u16(w->n_outputs),
                 .sibling = sf_u16(number)},
        .is_compressed = true,
        .file = &file,
        .dup_hashes = dups,
        .n_dup_hashes = number == 0 ? n_dups : 0,
        .source_ids = sources,
        .n_source_ids = sources ? w->m->n_inputs : 0,
    };
    char tmp[64];
    enum sf_err err;

    memcpy(options.info.store_uuid, l->uuid, 16);
    sf_local_tmp_path(row.kind, row.id, tmp);
    sf_local_block_path(row.kind, row.day, row.id, row.path);
    err = sf_dir_create(l->dir, tmp, &file, why);
    if (err)
        return err;
    err = sf_profile_block_writer_new(&options, &writer, why);
    if (!err)
        err = write_services(w, o, writer, why);
    if (!err)
        err = sf_profile_block_writer_finish(writer, &row.len, &info, NULL, why);
    if (!err)
        err = sf_file_sync(&file, why);
    sf_profile_block_writer_free(writer);
    sf_file_close(&file);
    row.ts_min_ns = info.ts_min_ns;
    row.ts_max_ns = info.ts_max_ns;
    row.n_rows = info.n_rows;
    if (!err)
        err = sf_block_file_publish(l, &row, tmp, why);
    if (err) {
        sf_dir_unlink(l->dir, tmp, NULL);
        sf_dir_unlink(l->dir, row.path, NULL);
        return err;
    }
    w->done.rows[w->done.n++] = row;
    return SF_OK;
}

/* Request hashes of inputs young enough to matter move on with the rows. */
static uint64_t *collect_dups(const struct work *w, size_t *out_n)
{
    int64_t since = sf_local_wall_ns(w->l) - 600 * SF_NS_PER_S;
    uint64_t *all;
    size_t n = 0;
    for (size_t i = 0; i < w->n_entered; i++) {
        size_t more = 0;
        sf_profile_block_dup_hashes(w->inputs[i].reader, &more);
        n += more;
    }
    all = sf_heap_new_n(n + 1, sizeof(*all));
    n = 0;
    for (size_t i = 0; all && i < w->n_entered; i++) {
        size_t more = 0;
        const uint64_t *list = sf_profile_block_dup_hashes(w->inputs[i].reader, &more);
        if (more && w->inputs[i].run->row.created_ns >= since) {
            memcpy(all + n, list, more * sizeof(*all));
            n += more;
        }
    }
    *out_n = n;
    return all;
}

static enum sf_err write_all(struct work *w, struct sf_why *why)
{
    uint64_t *sources = sf_heap_new_n(w->m->n_inputs + 1, sizeof(*sources));
    size_t n_dups = 0;
    uint64_t *dups = collect_dups(w, &n_dups);
    enum sf_err err = SF_OK;
    w->done.rows = sf_heap_new_n(w->n_outputs + 1, sizeof(*w->done.rows));
    if (!sources || !dups || !w->done.rows)
        err = no_memory(why);
    for (size_t i = 0; !err && i < w->m->n_inputs; i++)
        sources[i] = w->m->inputs[i]->row.id;
    sf_mutex_lock(&w->l->number_lock);
    w->done.next_id = w->l->next_block;
    w->done.flush_no = w->l->next_flush;
    w->l->next_block += w->n_outputs;
    w->l->next_flush++;
    sf_mutex_unlock(&w->l->number_lock);
    for (size_t i = 0; !err && i < w->n_outputs; i++)
        err = write_output(w, i, sources, dups, n_dups, why);
    sf_heap_free(sources);
    sf_heap_free(dups);
    return err;
}

static enum sf_err enter_all(struct work *w, struct sf_why *why)
{
    w->inputs = sf_heap_new_n(w->m->n_inputs + 1, sizeof(*w->inputs));
    if (!w->inputs)
        return no_memory(why);
    for (; w->n_entered < w->m->n_inputs; w->n_entered++) {
        struct input *in = &w->inputs[w->n_entered];
        enum sf_err err;
        in->run = w->m->inputs[w->n_entered];
        err = sf_run_enter_profiles(in->run, &in->reader, why);
        if (err)
            return err;
        in->services = sf_profile_block_services(in->reader, &in->n_services);
    }
    return SF_OK;
}

enum sf_err sf_profile_merge_run(struct sf_local *l, const struct sf_merge *merge,
                                 struct sf_merged *out, struct sf_why *why)
{
    struct work w = {.l = l, .m = merge};
    enum sf_err err = sf_doubt_settle(l, why);
    if (!err && !sf_arena_init(&w.arena, ARENA_CAP))
        err = no_memory(why);
    if (!err)
        err = enter_all(&w, why);
    if (!err)
        err = plan(&w, why);
    if (!err && w.n_outputs > UINT16_MAX)
        err = no_room(why);
    if (!err)
        err = write_all(&w, why);
    if (err)
        sf_merged_discard(l, &w.done);
    else
        *out = w.done;
    for (size_t i = 0; i < w.n_entered; i++)
        sf_run_leave(w.inputs[i].run);
    sf_budget_sub(&l->budget, SF_LINE_MERGE, w.counted_len);
    sf_heap_free(w.inputs);
    sf_heap_free(w.outputs);
    sf_arena_done(&w.arena);
    return err;
}
