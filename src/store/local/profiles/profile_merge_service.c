/* profile_merge_service.c - merges one service. The tables of all inputs are joined into one set,
 * with a map from old to new numbers; profiles are written by time; samples are written slot by
 * slot, summed where only sums are kept. */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/num.h"
#include "store/local/profiles/profile_merging.h"

/* A chunk of an input, and a row of the output in the slot to which it belongs. */
struct sf_merge_ref {
    uint32_t row, part, chunk;
};

struct origin { /* where a row of the output comes from */
    const struct sf_profile_row *row;
    uint32_t series, process, part, from;
};

/* ---- tables ---- */

static int profile_merge_service_by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static bool profile_merge_service_find_windows(const struct sf_profile_merging *w,
                                               struct sf_merge_part *p, uint32_t n_rows,
                                               struct sf_arena *a)
{
    uint32_t n = 0;
    p->windows = sf_arena_new_n(a, (size_t)n_rows + 1, sizeof(*p->windows));
    if (!p->windows)
        return false;
    for (uint32_t i = 0; i < n_rows; i++) {
        int64_t window = sf_profile_merge_window(w, p->rows[i].index_ns);
        if (n == 0 || p->windows[n - 1] != window)
            p->windows[n++] = window;
    }
    if (n)
        qsort(p->windows, n, sizeof(*p->windows), profile_merge_service_by_number);
    for (uint32_t i = 0; i < n; i++) {
        if (p->n_windows == 0 || p->windows[p->n_windows - 1] != p->windows[i])
            p->windows[p->n_windows++] = p->windows[i];
    }
    return true;
}

static enum sf_err join_threads(struct sf_service_merge *s, const struct sf_merge_part *p,
                                struct sf_why *why)
{
    struct sf_arena tmp = s->w->arena;
    const struct sf_profile_thread *threads;
    uint32_t n;
    enum sf_err err = s->w->m->details == SF_DETAILS_NONE
                          ? SF_OK
                          : sf_profile_tables_decode_threads(p->in->reader, p->service, &tmp,
                                                             &threads, &n, why);
    if (err || s->w->m->details == SF_DETAILS_NONE)
        return sf_profile_merge_blame(p->in, err, why);
    return sf_profile_threads_join(s->set, threads, n, p->process_map, why);
}

/* Reads one input's tables of the service and maps them to the joined tables. */
static enum sf_err join_part(struct sf_service_merge *s, struct sf_merge_part *p,
                             struct sf_why *why)
{
    const struct sf_profile_block_reader *r = p->in->reader;
    const struct sf_profile_service *me = &p->in->services[p->service];
    struct sf_arena *a = &s->w->arena, tmp;
    struct sf_profile_symbols symbols;
    enum sf_err err = sf_profile_tables_decode_series(r, p->service, a, &p->series, &p->processes,
                                                      why);
    if (!err)
        err = sf_profile_tables_decode_rows(r, p->service, a, &p->rows, why);
    if (!err)
        err = sf_profile_tables_decode_places(r, p->service, a, &p->places, why);
    if (err)
        return sf_profile_merge_blame(p->in, err, why);
    p->node_map = sf_arena_new_n(a, (size_t)me->n_nodes + 1, sizeof(uint32_t));
    p->series_map = sf_arena_new_n(a, (size_t)me->n_series + 1, sizeof(uint32_t));
    p->process_map = sf_arena_new_n(a, (size_t)me->n_processes + 1, sizeof(uint32_t));
    p->row_map = sf_arena_new_n(a, (size_t)me->n_rows + 1, sizeof(uint32_t));
    if (!p->node_map || !p->series_map || !p->process_map || !p->row_map ||
        !profile_merge_service_find_windows(s->w, p, me->n_rows, a))
        return sf_profile_merge_no_room(why);
    tmp = *a;
    err = sf_profile_merge_blame(
        p->in, sf_profile_tables_decode_symbols(r, p->service, &tmp, &symbols, why), why);
    if (!err)
        err = sf_profile_set_tables_join_symbols(s->set, &symbols, p->node_map, tmp, why);
    if (!err)
        err = sf_profile_set_tables_join_series(s->set, p->series, me->n_series, p->series_map,
                                                why);
    if (!err)
        err = sf_profile_set_tables_join_processes(s->set, p->processes, me->n_processes,
                                                   p->process_map, why);
    return err ? err : join_threads(s, p, why);
}

static int profile_merge_service_by_series(const void *a, const void *b)
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

/* Finds rows that an erasure hides. If only the sum of a slot is left, a single profile cannot be
 * removed from it: the whole slot is removed. */
static bool *find_hidden(const struct sf_service_merge *s, const struct sf_merge_part *p,
                         struct sf_arena *a)
{
    static const sf_trace_id NO_TRACE = {{0}};
    uint32_t n_rows = p->in->services[p->service].n_rows;
    bool *is_hidden = sf_arena_new_n(a, (size_t)n_rows + 1, sizeof(*is_hidden));
    for (uint32_t i = 0; is_hidden && i < n_rows; i++)
        is_hidden[i] = sf_profile_merge_hides(s->w, p->in, s->t.tenant, s->t.service, NO_TRACE,
                                              p->rows[i].time_ns);
    for (uint32_t i = 0; is_hidden && i < p->places.n_chunks; i++) {
        const struct sf_profile_chunk *c = &p->places.chunks[i];
        if (sf_profile_chunk_is_alone(&p->places, i) &&
            memchr(is_hidden + c->first_row, 1, c->n_rows))
            memset(is_hidden + c->first_row, 1, c->n_rows);
    }
    return is_hidden;
}

/* Sorts the rows of this output. */
static enum sf_err profile_merge_service_order_rows(struct sf_service_merge *s, struct sf_why *why)
{
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
        return sf_profile_merge_no_room(why);
    for (uint32_t i = 0; i < s->n_parts; i++) {
        struct sf_merge_part *p = &s->parts[i];
        const bool *is_hidden = find_hidden(s, p, &tmp);
        if (!is_hidden)
            return sf_profile_merge_no_room(why);
        for (uint32_t k = 0; k < p->in->services[p->service].n_rows; k++) {
            const struct sf_profile_row *row = &p->rows[k];
            p->row_map[k] = SF_NONE;
            if (sf_profile_merge_window(s->w, row->index_ns) != s->o->window || is_hidden[k])
                continue;
            list[n++] = (struct origin){
                row, p->series_map[row->series],
                row->process == SF_NONE ? SF_NONE : p->process_map[row->process], i, k};
        }
    }
    if (n)
        qsort(list, n, sizeof(*list), profile_merge_service_by_series);
    for (uint32_t i = 0; i < n; i++) {
        s->rows[i] = *list[i].row;
        s->rows[i].series = list[i].series;
        s->rows[i].process = list[i].process;
        if (s->w->m->details == SF_DETAILS_PINNED_ALONE)
            s->rows[i].total = 0, s->rows[i].n_samples = 0;
        s->parts[list[i].part].row_map[list[i].from] = i;
    }
    s->t.rows = s->rows;
    s->t.n_rows = n;
    return SF_OK;
}

/* ---- samples ---- */

static int profile_merge_service_by_row(const void *a, const void *b)
{
    const struct sf_merge_ref *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return x->part < y->part ? -1 : x->part > y->part;
}

static enum sf_err order_chunks(struct sf_service_merge *s, struct sf_why *why)
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->n_parts; i++)
        n += s->parts[i].places.n_chunks;
    s->refs = sf_arena_new_n(&s->w->arena, n + 1, sizeof(*s->refs));
    if (!s->refs)
        return sf_profile_merge_no_room(why);
    for (uint32_t i = 0; i < s->n_parts; i++) {
        const struct sf_merge_part *p = &s->parts[i];
        for (uint32_t k = 0; k < p->places.n_chunks; k++) {
            const struct sf_profile_chunk *c = &p->places.chunks[k];
            uint32_t row = SF_NONE;
            bool is_needed = !c->is_rollup || sf_profile_chunk_is_alone(&p->places, k);
            for (uint32_t j = 0; is_needed && j < c->n_rows && row == SF_NONE; j++)
                row = p->row_map[c->first_row + j];
            if (row != SF_NONE)
                s->refs[s->n_refs++] = (struct sf_merge_ref){row, i, k};
        }
    }
    if (s->n_refs)
        qsort(s->refs, s->n_refs, sizeof(*s->refs), profile_merge_service_by_row);
    return SF_OK;
}

struct gathered {
    struct sf_profile_entry *list;
    size_t n, cap;
    bool is_coarse; /* an input has only the sum of the slot */
};

static int by_node(const void *a, const void *b)
{
    const struct sf_profile_entry *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static enum sf_err profile_merge_service_gather_chunk(struct sf_service_merge *s,
                                                      const struct sf_merge_ref *ref,
                                                      struct gathered *g, struct sf_why *why)
{
    const struct sf_merge_part *p = &s->parts[ref->part];
    struct sf_arena tmp = s->w->arena;
    const struct sf_profile_entry *e;
    size_t n;
    enum sf_err err = sf_profile_samples_chunk(
        p->in->reader, p->service, &p->places.chunks[ref->chunk], NULL, &tmp, &e, &n, why);
    if (err)
        return sf_profile_merge_blame(p->in, err, why);
    g->is_coarse = g->is_coarse || p->places.chunks[ref->chunk].is_rollup;
    if (n > g->cap - g->n) {
        size_t cap = (g->n + n) + (g->n + n) / 2;
        struct sf_profile_entry *more = sf_heap_grow(g->list, cap, sizeof(*more));
        if (!more)
            return sf_profile_merge_no_memory(why);
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

static bool is_old(const struct sf_service_merge *s, int64_t index_ns)
{
    return (sf_profile_slot(index_ns) + 1) * SF_PROFILE_SLOT_NS <= s->w->m->coarse_before_ns;
}

static enum sf_err profile_merge_service_write_samples(struct sf_service_merge *s,
                                                       struct sf_profile_block_writer *to,
                                                       struct sf_why *why)
{
    struct gathered g = {0};
    enum sf_err err = order_chunks(s, why);
    uint32_t at = 0;
    for (uint32_t row = 0, end; !err && row < s->t.n_rows; row = end) {
        end = sf_profile_set_write_slot_end(s->rows, s->t.n_rows, row);
        g.n = 0;
        g.is_coarse = is_old(s, s->rows[row].index_ns);
        while (!err && at < s->n_refs && s->refs[at].row < end)
            err = profile_merge_service_gather_chunk(s, &s->refs[at++], &g, why);
        if (err || g.n == 0)
            continue;
        qsort(g.list, g.n, sizeof(*g.list), by_node);
        err = sf_profile_set_write_slot(to, s->rows, row, end - row, g.is_coarse, g.list, g.n, why);
        if (atomic_load(&s->w->l->is_stopping))
            err = sf_fail(why, SF_ERR_CANCELLED, "store: stopping");
    }
    s->w->gathered_len = g.cap * sizeof(*g.list);
    sf_heap_free(g.list);
    return err;
}

enum sf_err sf_profile_merge_service_write(struct sf_service_merge *s,
                                           struct sf_profile_block_writer *to, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && i < s->n_parts; i++)
        err = join_part(s, &s->parts[i], why);
    if (!err)
        err = profile_merge_service_order_rows(s, why);
    if (err || s->t.n_rows == 0)
        return err;
    if (!sf_profile_set_tables_symbols(s->set, &s->w->arena, &s->t.symbols) ||
        !sf_profile_set_tables_series(s->set, &s->w->arena, &s->t.series, &s->t.n_series) ||
        !sf_profile_set_tables_processes(s->set, &s->w->arena, &s->t.processes,
                                         &s->t.n_processes) ||
        !sf_profile_threads_list(s->set, &s->w->arena, &s->t.threads, &s->t.n_threads))
        return sf_profile_merge_no_room(why);
    err = sf_profile_block_writer_begin(to, &s->t, why);
    if (!err && s->w->m->details != SF_DETAILS_PINNED_ALONE)
        err = profile_merge_service_write_samples(s, to, why);
    if (!err && s->w->m->details != SF_DETAILS_NONE)
        err = sf_profile_merge_details(s, to, why);
    return err ? err : sf_profile_block_writer_end(to, why);
}
