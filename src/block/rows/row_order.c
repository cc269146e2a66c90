#include "block/rows/row_order.h"

#include <stdlib.h>

#include "base/num.h"
#include "base/table.h"

enum {
    SMALL = 24, /* up to this many rows of a trace, comparing all pairs is fastest */
    EDGE = 64,  /* the first and last 1/64 of the rows are edges */
};

static int row_order_by_start(const void *a, const void *b, void *arg)
{
    uint32_t ia = *(const uint32_t *)a, ib = *(const uint32_t *)b;
    const struct sf_mem_row *x = sf_rowsets_row(arg, ia), *y = sf_rowsets_row(arg, ib);
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return ia < ib ? -1 : ia > ib;
}

static int row_order_by_identity(const void *a, const void *b, void *arg)
{
    uint32_t ia = *(const uint32_t *)a, ib = *(const uint32_t *)b;
    const struct sf_mem_row *x = sf_rowsets_row(arg, ia), *y = sf_rowsets_row(arg, ib);
    if (x->span_id != y->span_id)
        return x->span_id < y->span_id ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return ia < ib ? -1 : ia > ib;
}

static int row_order_by_trace(const void *a, const void *b, void *arg)
{
    const struct sf_row_group *x = a, *y = b;
    if (x->tenant != y->tenant)
        return x->tenant < y->tenant ? -1 : 1;
    if (x->edge != y->edge)
        return x->edge < y->edge ? -1 : 1;
    if (x->first_ns != y->first_ns)
        return x->first_ns < y->first_ns ? -1 : 1;
    return sf_trace_id_cmp(sf_rowsets_row(arg, x->any_row)->trace_id,
                           sf_rowsets_row(arg, y->any_row)->trace_id);
}

static bool row_order_same_trace(const struct sf_mem_row *a, const struct sf_mem_row *b)
{
    return a->tenant == b->tenant && sf_trace_id_eq(a->trace_id, b->trace_id);
}

struct seeker { /* finds the trace of each row */
    struct sf_row_order *o;
    struct sf_table at; /* of groups */
    uint32_t *of_row;   /* the trace of each row, in order */
    size_t n;
    uint32_t first_end, last_begin; /* edges of the current set */
};

/* The index of the row's trace among the groups; a new one is added. There is space for it. */
static uint32_t row_order_place_of(struct seeker *k, uint32_t ref, const struct sf_mem_row *row)
{
    struct sf_row_order *o = k->o;
    struct sf_table_lookup lookup = sf_table_lookup(&k->at,
                                                    sf_trace_id_key(row->trace_id, row->tenant));
    uint32_t at;
    while (sf_table_next(&lookup, &at)) {
        if (row_order_same_trace(row, sf_rowsets_row(o->sets, o->groups[at].any_row)))
            return at;
    }
    at = o->n_groups++;
    o->groups[at] = (struct sf_row_group){
        .first_ns = INT64_MAX, .tenant = row->tenant, .any_row = ref, .edge = SF_ROWS_INNER};
    sf_table_keep(&k->at, &lookup, at);
    return at;
}

static void row_order_find_group(struct seeker *k, uint32_t ref, const struct sf_mem_row *row,
                                 uint32_t place)
{
    uint32_t at = row_order_place_of(k, ref, row);
    struct sf_row_group *g = &k->o->groups[at];
    k->of_row[k->n++] = at;
    g->n++;
    if (row->index_ns < g->first_ns)
        g->first_ns = row->index_ns;
    if (place >= k->last_begin)
        g->edge = SF_ROWS_LAST;
    else if (place < k->first_end && g->edge == SF_ROWS_INNER)
        g->edge = SF_ROWS_FIRST;
}

/* Finds the trace of every row (`of_row`); lists the traces in order of appearance. */
/* How many rows at an edge of one set. */
static size_t row_edge_len(const uint8_t *edges, size_t n_sets, size_t n_rows)
{
    size_t n = 0;
    for (size_t i = 0; edges && i < n_sets; i++)
        n += (edges[i] & SF_EDGE_FIRST) != 0;
    return n ? n_rows / EDGE / n : 0;
}

static bool row_order_find_groups(struct sf_row_order *o, const uint8_t *edges, size_t n_sets,
                                  size_t n_rows, uint32_t *of_row, struct sf_arena scratch)
{
    size_t len = row_edge_len(edges, n_sets, n_rows);

    struct seeker k = {.o = o, .of_row = of_row, .at = {.arena = &scratch}};
    if (!sf_table_reset(&k.at, sf_u32(n_rows)))
        return false;
    for (uint32_t set = 0; set < n_sets; set++) {
        const struct sf_rowset *r = o->sets[set];
        size_t here = len < r->n_rows ? len : r->n_rows;
        k.first_end = edges && edges[set] & SF_EDGE_FIRST ? (uint32_t)here : 0;
        k.last_begin = edges && edges[set] & SF_EDGE_LAST ? (uint32_t)(r->n_rows - here)
                                                          : UINT32_MAX;
        for (uint32_t i = 0; i < r->n_rows; i++)
            row_order_find_group(&k, set << SF_ROW_PLACE_BITS | i, &r->rows[i], i);
    }
    return true;
}

bool sf_row_order_init(struct sf_row_order *o, const struct sf_rowset *const *sets,
                       const uint8_t *edges, size_t n_sets, struct sf_arena *req)
{
    size_t n = 0;
    uint32_t at = 0, *of_row;
    struct sf_arena scratch;

    for (size_t i = 0; i < n_sets; i++)
        n += sets[i]->n_rows;
    *o = (struct sf_row_order){.sets = sets};
    o->groups = sf_arena_raw(req, n * sizeof(*o->groups), 16);
    o->rows = sf_arena_raw(req, n * sizeof(*o->rows), 16);
    scratch = *req;
    of_row = sf_arena_raw(&scratch, n * sizeof(*of_row), 16);
    if (!of_row || !o->groups || !o->rows ||
        !row_order_find_groups(o, edges, n_sets, n, of_row, scratch))
        return false;
    for (uint32_t g = 0; g < o->n_groups; g++) {
        o->groups[g].at = at;
        at += o->groups[g].n;
    }
    for (uint32_t set = 0; set < n_sets; set++) {
        for (uint32_t i = 0; i < sets[set]->n_rows; i++)
            o->rows[o->groups[*of_row++].at++] = set << SF_ROW_PLACE_BITS | i;
    }
    for (uint32_t g = 0; g < o->n_groups; g++)
        o->groups[g].at -= o->groups[g].n;
    if (n)
        qsort_r(o->groups, o->n_groups, sizeof(*o->groups), row_order_by_trace,
                (void *)(uintptr_t)sets);
    return true;
}

static bool row_is_better(const struct sf_mem_row *a, const struct sf_mem_row *b)
{
    struct sf_span x = {.end_ns = a->end_ns, .attrs = {.n = a->n_attrs}};
    struct sf_span y = {.end_ns = b->end_ns, .attrs = {.n = b->n_attrs}};
    return sf_span_is_better(&x, &y);
}

static bool same_span(const struct sf_mem_row *a, const struct sf_mem_row *b)
{
    return a->span_id == b->span_id && a->kind == b->kind;
}

/* Keeps the better copy of each duplicate span; returns how many rows are left. */
static uint32_t row_order_drop_repeats(const struct sf_rowset *const *sets, uint32_t *rows,
                                       uint32_t n)
{
    uint32_t kept = 1;
    qsort_r(rows, n, sizeof(*rows), row_order_by_identity, (void *)(uintptr_t)sets);
    for (uint32_t i = 1; i < n; i++) {
        const struct sf_mem_row *last = sf_rowsets_row(sets, rows[kept - 1]),
                                *row = sf_rowsets_row(sets, rows[i]);
        if (!same_span(last, row))
            rows[kept++] = rows[i];
        else if (row_is_better(last, row))
            rows[kept - 1] = rows[i];
    }
    return kept;
}

static uint32_t drop_few_repeats(const struct sf_rowset *const *sets, uint32_t *rows, uint32_t n)
{
    sf_span_id ids[SMALL];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_mem_row *row = sf_rowsets_row(sets, rows[i]);
        uint32_t k = 0;
        while (k < kept &&
               !(ids[k] == row->span_id && same_span(sf_rowsets_row(sets, rows[k]), row)))
            k++;
        if (k == kept) {
            ids[kept] = row->span_id;
            rows[kept++] = rows[i];
        } else if (row_is_better(sf_rowsets_row(sets, rows[k]), row)) {
            rows[k] = rows[i];
        }
    }
    return kept;
}

struct row_start {
    uint64_t start_ns;
    uint32_t row;
};

static bool row_start_is_less(const struct row_start *x, const struct row_start *y)
{
    return x->start_ns != y->start_ns ? x->start_ns < y->start_ns : x->row < y->row;
}

/* Sorts by start, where rows are mostly in order already; reads each row once. */
static void sort_few(const struct sf_rowset *const *sets, uint32_t *rows, uint32_t n)
{
    struct row_start list[SMALL];
    for (uint32_t i = 0; i < n; i++) {
        struct row_start one = {sf_rowsets_row(sets, rows[i])->start_ns, rows[i]};
        uint32_t k = i;
        while (k > 0 && row_start_is_less(&one, &list[k - 1])) {
            list[k] = list[k - 1];
            k--;
        }
        list[k] = one;
    }
    for (uint32_t i = 0; i < n; i++)
        rows[i] = list[i].row;
}

uint32_t *sf_row_order_trace(struct sf_row_order *o, uint32_t group, uint32_t *out_n)
{
    uint32_t *rows = o->rows + o->groups[group].at, n = o->groups[group].n;

    if (n <= SMALL) {
        n = drop_few_repeats(o->sets, rows, n);
        sort_few(o->sets, rows, n);
    } else {
        n = row_order_drop_repeats(o->sets, rows, n);
        qsort_r(rows, n, sizeof(*rows), row_order_by_start, (void *)(uintptr_t)o->sets);
    }
    *out_n = n;
    return rows;
}
