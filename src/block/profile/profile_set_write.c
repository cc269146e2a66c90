/* profile_set_write.c - sorts a service's profiles in memory and writes them to a block. */
#include <stdlib.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/num.h"
#include "base/radix.h"
#include "block/profile/profile_block_writer.h"
#include "block/profile/profile_set.h"

enum { ROLLUP_ROWS = 4 }; /* a rollup is written for slots with at least this many profiles */

struct order { /* a row and its sort key */
    const struct sf_profile_row *row;
    uint32_t from;
};

struct work {
    const struct sf_profile_set *s;
    struct sf_arena arena;
    struct sf_profile_tables t;
    uint32_t *to; /* new index of each row, or SF_NONE */
    struct sf_profile_row *rows;
    uint32_t *entries, *details; /* sorted indexes into the set instead of copies */
    uint32_t n_entries, n_details;
};

static int profile_set_write_by_series(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    if (x->row->series != y->row->series)
        return x->row->series < y->row->series ? -1 : 1;
    if (x->row->index_ns != y->row->index_ns)
        return x->row->index_ns < y->row->index_ns ? -1 : 1;
    return x->from < y->from ? -1 : x->from > y->from;
}

static int compare_u32(uint32_t x, uint32_t y)
{
    return x < y ? -1 : x > y;
}

int sf_profile_set_write_detail_cmp(const struct sf_profile_detail *x,
                                    const struct sf_profile_detail *y)
{
    if (x->process != y->process) /* no process (SF_NONE) comes first */
        return compare_u32(x->process + 1, y->process + 1);
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->span_id != y->span_id)
        return x->span_id < y->span_id ? -1 : 1;
    return compare_u32(x->node, y->node);
}

static bool profile_set_write_order_rows(struct work *w, int64_t from_ns, int64_t to_ns)
{
    const struct sf_profile_set *s = w->s;
    struct order *order = sf_heap_new_n((size_t)s->n_rows + 1, sizeof(*order));
    uint32_t n = 0;
    w->to = sf_heap_new_n((size_t)s->n_rows + 1, sizeof(*w->to));
    w->rows = sf_heap_new_n((size_t)s->n_rows + 1, sizeof(*w->rows));
    if (!order || !w->to || !w->rows) {
        sf_heap_free(order);
        return false;
    }
    for (uint32_t i = 0; i < s->n_rows; i++) {
        w->to[i] = SF_NONE;
        if (s->rows[i].index_ns >= from_ns && s->rows[i].index_ns < to_ns)
            order[n++] = (struct order){&s->rows[i], i};
    }
    if (n)
        qsort(order, n, sizeof(*order), profile_set_write_by_series);
    for (uint32_t i = 0; i < n; i++) {
        w->rows[i] = *order[i].row;
        w->to[order[i].from] = i;
    }
    w->t.n_rows = n;
    sf_heap_free(order);
    return true;
}

/* Indexes of entries or details, sorted by several keys, the least significant key first. */
struct sorting {
    uint64_t *list, *space; /* current key in the upper half, index in the lower */
    size_t n;
};

static void sorting_done(struct sorting *x)
{
    sf_heap_free(x->list);
    sf_heap_free(x->space);
}

static bool sorting_init(struct sorting *x, uint32_t n)
{
    x->list = sf_heap_new_n((size_t)n + 1, sizeof(*x->list));
    x->space = sf_heap_new_n((size_t)n + 1, sizeof(*x->space));
    return x->list && x->space;
}

static void sorting_key(uint64_t *entry, uint32_t key)
{
    *entry = (uint64_t)key << 32 | (uint32_t)*entry;
}

/* Sorts by slot, node and row. Rows are sorted by series and time, so the index of the first row of
 * a slot is the key of the slot. */
static bool order_entries(struct work *w)
{
    const struct sf_profile_entry *e = w->s->entries;
    uint32_t *slots = sf_heap_new_n((size_t)w->t.n_rows + 1, sizeof(*slots));
    struct sorting x = {0};
    bool is_ok = sorting_init(&x, w->s->n_entries) && slots;
    for (uint32_t row = 0, end; is_ok && row < w->t.n_rows; row = end) {
        end = sf_profile_set_write_slot_end(w->rows, w->t.n_rows, row);
        for (uint32_t i = row; i < end; i++)
            slots[i] = row;
    }
    for (uint32_t i = 0; is_ok && i < w->s->n_entries; i++) {
        if (w->to[e[i].row] != SF_NONE)
            x.list[x.n++] = (uint64_t)w->to[e[i].row] << 32 | i;
    }
    if (is_ok) {
        sf_radix_sort(x.list, x.space, x.n);
        for (size_t i = 0; i < x.n; i++)
            sorting_key(&x.list[i], e[(uint32_t)x.list[i]].node);
        sf_radix_sort(x.list, x.space, x.n);
        for (size_t i = 0; i < x.n; i++)
            sorting_key(&x.list[i], slots[w->to[e[(uint32_t)x.list[i]].row]]);
        sf_radix_sort(x.list, x.space, x.n);
        for (size_t i = 0; i < x.n; i++)
            w->entries[i] = (uint32_t)x.list[i];
        w->n_entries = (uint32_t)x.n;
    }
    sorting_done(&x);
    sf_heap_free(slots);
    return is_ok;
}

/* Ranks of a list of numbers: equal ones have the same rank. `x` has space for all of them. */
static void rank_ids(struct sorting *x, const struct sf_profile_set_ids *ids, uint32_t n,
                     bool is_span, uint32_t *out)
{
    uint64_t before = 0;
    uint32_t rank = 0;
    for (uint32_t i = 0; i < n; i++)
        x->list[i] = (is_span ? ids[i].span_id : ids[i].thread) << 32 | i;
    sf_radix_sort(x->list, x->space, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_profile_set_ids *from = &ids[(uint32_t)x->list[i]];
        sorting_key(&x->list[i], (uint32_t)((is_span ? from->span_id : from->thread) >> 32));
    }
    sf_radix_sort(x->list, x->space, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_profile_set_ids *from = &ids[(uint32_t)x->list[i]];
        uint64_t number = is_span ? from->span_id : from->thread;
        rank += i && number != before;
        out[(uint32_t)x->list[i]] = rank;
        before = number;
    }
}

/* The keys that details are sorted by, 32 bits each, the least significant first: the order of
 * sf_profile_set_write_detail_cmp(). Many rows share few ids, so these are ranked once. */
enum detail_key {
    KEY_NODE,
    KEY_SPAN,
    KEY_START,
    KEY_START_HIGH,
    KEY_THREAD,
    KEY_PROCESS,
    DETAIL_KEYS
};

struct ranks { /* of each of the set's ids */
    uint32_t *spans, *threads;
};

static uint32_t detail_key(const struct sf_profile_set *s, const struct ranks *r, uint32_t i,
                           enum detail_key key)
{
    const struct sf_profile_set_detail *d = &s->details[i];
    switch (key) {
    case KEY_NODE: return s->entries[d->entry].node;
    case KEY_SPAN: return r->spans[d->ids];
    case KEY_START: return (uint32_t)sf_profile_set_time(s, i).start_us; /* never negative */
    case KEY_START_HIGH: return (uint32_t)((uint64_t)sf_profile_set_time(s, i).start_us >> 32);
    case KEY_THREAD: return r->threads[d->ids];
    default: /* no process (SF_NONE) becomes 0 and comes first */
        return s->rows[s->entries[d->entry].row].process + 1;
    }
}

static bool order_details(struct work *w)
{
    const struct sf_profile_set *s = w->s;
    struct ranks r = {.spans = sf_heap_new_n((size_t)s->n_ids + 1, sizeof(*r.spans)),
                      .threads = sf_heap_new_n((size_t)s->n_ids + 1, sizeof(*r.threads))};
    struct sorting x = {0};
    bool is_ok = sorting_init(&x, s->n_details > s->n_ids ? s->n_details : s->n_ids) && r.spans &&
                 r.threads;
    if (is_ok) {
        rank_ids(&x, s->ids, s->n_ids, true, r.spans);
        rank_ids(&x, s->ids, s->n_ids, false, r.threads);
    }
    for (uint32_t i = 0; is_ok && i < s->n_details; i++) {
        if (w->to[s->entries[s->details[i].entry].row] != SF_NONE)
            x.list[x.n++] = i;
    }
    for (int key = 0; is_ok && key < DETAIL_KEYS; key++) {
        for (size_t i = 0; i < x.n; i++)
            sorting_key(&x.list[i], detail_key(s, &r, (uint32_t)x.list[i], (enum detail_key)key));
        sf_radix_sort(x.list, x.space, x.n);
    }
    for (size_t i = 0; is_ok && i < x.n; i++)
        w->details[i] = (uint32_t)x.list[i];
    w->n_details = (uint32_t)x.n;
    sorting_done(&x);
    sf_heap_free(r.spans);
    sf_heap_free(r.threads);
    return is_ok;
}

static bool order_samples(struct work *w)
{
    w->entries = sf_heap_new_n((size_t)w->s->n_entries + 1, sizeof(*w->entries));
    w->details = sf_heap_new_n((size_t)w->s->n_details + 1, sizeof(*w->details));
    return w->entries && w->details && order_entries(w) && order_details(w);
}

/* Adds up equal pairs (in a rollup: equal nodes) of sorted entries in place. */
static size_t profile_entries_join(struct sf_profile_entry *e, size_t n, bool is_rollup)
{
    size_t n_out = 0;
    for (size_t i = 0; i < n; i++) {
        struct sf_profile_entry *last = n_out ? &e[n_out - 1] : NULL;
        if (last && last->node == e[i].node && (is_rollup || last->row == e[i].row))
            last->value = sf_add_sat_i64(last->value, e[i].value);
        else
            e[n_out++] = e[i];
    }
    return n_out;
}

enum sf_err sf_profile_set_write_slot(struct sf_profile_block_writer *to,
                                      const struct sf_profile_row *rows, uint32_t first_row,
                                      uint32_t n_rows, bool is_coarse, struct sf_profile_entry *e,
                                      size_t n, struct sf_why *why)
{
    uint32_t series = rows[first_row].series;
    enum sf_err err = SF_OK;
    if (!is_coarse) {
        n = profile_entries_join(e, n, false);
        err = sf_profile_block_writer_chunk(to, series, first_row, n_rows, false, e, n, why);
    }
    if (err || (!is_coarse && n_rows < ROLLUP_ROWS))
        return err;
    n = profile_entries_join(e, n, true);
    return sf_profile_block_writer_chunk(to, series, first_row, n_rows, true, e, n, why);
}

uint32_t sf_profile_set_write_slot_end(const struct sf_profile_row *rows, uint32_t n_rows,
                                       uint32_t first_row)
{
    uint32_t end = first_row + 1;
    while (end < n_rows && rows[end].series == rows[first_row].series &&
           sf_profile_slot(rows[end].index_ns) == sf_profile_slot(rows[first_row].index_ns))
        end++;
    return end;
}

static enum sf_err profile_set_write_chunks(struct work *w, struct sf_profile_block_writer *to,
                                            struct sf_why *why)
{
    struct sf_profile_entry *out = NULL;
    enum sf_err err = SF_OK;
    size_t cap = 0;
    uint32_t at = 0;
    for (uint32_t row = 0, end; !err && row < w->t.n_rows; row = end) {
        size_t n = 0;
        end = sf_profile_set_write_slot_end(w->rows, w->t.n_rows, row);
        for (; at < w->n_entries; at++, n++) {
            const struct sf_profile_entry *e = &w->s->entries[w->entries[at]];
            if (w->to[e->row] >= end)
                break;
            if (!sf_list_room(&out, n, &cap, 1024)) {
                sf_heap_free(out);
                return sf_fail(why, SF_ERR_NOMEM, "block: no memory for samples");
            }
            out[n] = (struct sf_profile_entry){e->node, w->to[e->row], e->value};
        }
        if (n) /* profiles without samples have no chunk */
            err = sf_profile_set_write_slot(to, w->rows, row, end - row, false, out, n, why);
    }
    sf_heap_free(out);
    return err;
}

static enum sf_err write_details(struct work *w, struct sf_profile_block_writer *to,
                                 struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && i < w->n_details; i++) {
        struct sf_profile_detail d = sf_profile_set_detail(w->s, w->details[i]);
        err = sf_profile_details_encode_row(to, &d, 1, why);
    }
    return err;
}

enum sf_err sf_profile_set_write(struct sf_profile_block_writer *to, const struct sf_profile_set *s,
                                 int64_t from_ns, int64_t to_ns, struct sf_why *why)
{
    struct work w = {.s = s, .t = {.tenant = s->tenant, .service = s->service}};
    enum sf_err err = SF_OK;
    if (!sf_arena_init(&w.arena, (size_t)1 << 30) ||
        !profile_set_write_order_rows(&w, from_ns, to_ns))
        err = sf_fail(why, SF_ERR_NOMEM, "block: no memory to write a service");
    if (!err && w.t.n_rows) {
        if (!order_samples(&w) || !sf_profile_set_tables_symbols(s, &w.arena, &w.t.symbols) ||
            !sf_profile_set_tables_series(s, &w.arena, &w.t.series, &w.t.n_series) ||
            !sf_profile_set_tables_processes(s, &w.arena, &w.t.processes, &w.t.n_processes) ||
            !sf_profile_threads_list(s, &w.arena, &w.t.threads, &w.t.n_threads))
            err = sf_fail(why, SF_ERR_NOMEM, "block: no memory to write a service");
        w.t.rows = w.rows;
        if (!err)
            err = sf_profile_block_writer_begin(to, &w.t, why);
        if (!err)
            err = profile_set_write_chunks(&w, to, why);
        if (!err)
            err = write_details(&w, to, why);
        if (!err)
            err = sf_profile_block_writer_end(to, why);
    }
    sf_arena_done(&w.arena);
    sf_heap_free(w.to);
    sf_heap_free(w.rows);
    sf_heap_free(w.entries);
    sf_heap_free(w.details);
    return err;
}
