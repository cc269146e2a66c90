/* merge_plan.c - joins the pieces of a trace, makes one piece of each granule that is copied, and
 * assigns the pieces to blocks. */
#include "store/local/write/merge_plan.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/num.h"

enum sf_err sf_merge_plan_reserve(struct sf_merge_plan *plan, uint64_t n, struct sf_why *why)
{
    size_t cap = plan->n_pieces + (size_t)n;
    struct sf_merge_piece *more;
    if (cap <= plan->pieces_cap)
        return SF_OK;
    more = sf_heap_grow(plan->pieces, cap, sizeof(*more));
    if (!more)
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory to merge %zu traces", cap);
    plan->pieces = more;
    plan->pieces_cap = cap;
    return SF_OK;
}

enum sf_err sf_merge_plan_add(struct sf_merge_plan *plan, const struct sf_merge_piece *p,
                              struct sf_why *why)
{
    if (plan->n_pieces == plan->pieces_cap) {
        enum sf_err err = sf_merge_plan_reserve(plan, plan->n_pieces / 8 + 1024, why);
        if (err)
            return err;
    }
    plan->pieces[plan->n_pieces++] = *p;
    return SF_OK;
}

static int merge_plan_by_place(const struct sf_merge_piece *x, const struct sf_merge_piece *y)
{
    if (x->window != y->window)
        return x->window < y->window ? -1 : 1;
    if (x->tenant != y->tenant)
        return x->tenant < y->tenant ? -1 : 1;
    return 0;
}

static int merge_plan_by_hash(const void *a, const void *b)
{
    const struct sf_merge_piece *x = a, *y = b;
    int place = merge_plan_by_place(x, y);
    return place ? place : x->hash < y->hash ? -1 : x->hash > y->hash;
}

int sf_merge_plan_by_first(const void *a, const void *b)
{
    const struct sf_merge_piece *x = a, *y = b;
    int place = merge_plan_by_place(x, y);
    if (place)
        return place;
    if (x->first_ns != y->first_ns)
        return x->first_ns < y->first_ns ? -1 : 1;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    if (x->input != y->input)
        return x->input < y->input ? -1 : 1;
    return x->granule < y->granule ? -1 : x->granule > y->granule;
}

/* Sorts pieces that are decoded before whole granules. */
static int by_way(const void *a, const void *b)
{
    const struct sf_merge_piece *x = a, *y = b;
    return x->is_whole != y->is_whole ? (x->is_whole ? 1 : -1) : sf_merge_plan_by_first(a, b);
}

bool sf_merge_plan_same_trace(const struct sf_merge_piece *x, const struct sf_merge_piece *y)
{
    return merge_plan_by_place(x, y) == 0 && x->hash == y->hash;
}

static void merge_plan_note_alone(struct sf_merge_plan *plan, const struct sf_merge_piece *p)
{
    struct sf_merge_granule *g = &plan->granules[p->input][p->granule];
    if (p->n_visible != p->n || (g->n_alone && g->window != p->window))
        g->can_carry = false;
    g->window = p->window;
    g->n_alone++;
}

/* Makes one piece for each granule that is copied. */
static void join_granules(struct sf_merge_plan *plan)
{
    size_t n = 0;
    for (size_t i = 0; i < plan->n_pieces; i++) {
        struct sf_merge_piece *p = &plan->pieces[i];
        struct sf_merge_granule *g = &plan->granules[p->input][p->granule];
        const struct sf_granule_info *info = sf_span_block_reader_granule(plan->readers[p->input],
                                                                          p->granule);
        if (g->can_carry && g->n_alone == info->n_traces) {
            if (g->piece_plus_1) {
                struct sf_merge_piece *whole = &plan->pieces[g->piece_plus_1 - 1];
                whole->first_ns = p->first_ns < whole->first_ns ? p->first_ns : whole->first_ns;
                continue;
            }
            g->piece_plus_1 = n + 1;
            p->is_whole = true;
            p->row = 0;
            p->n = p->n_visible = sf_u16(info->n_rows);
        }
        plan->pieces[n++] = *p;
    }
    plan->n_pieces = n;
}

static void merge_plan_join_traces(struct sf_merge_plan *plan)
{
    if (plan->n_pieces == 0)
        return;
    qsort(plan->pieces, plan->n_pieces, sizeof(*plan->pieces), merge_plan_by_hash);
    for (size_t from = 0, to; from < plan->n_pieces; from = to) {
        int64_t first_ns = INT64_MAX;
        for (to = from; to < plan->n_pieces &&
                        sf_merge_plan_same_trace(&plan->pieces[from], &plan->pieces[to]);
             to++) {
            if (plan->pieces[to].first_ns < first_ns)
                first_ns = plan->pieces[to].first_ns;
        }
        for (size_t i = from; i < to; i++)
            plan->pieces[i].first_ns = first_ns;
        if (to - from == 1)
            merge_plan_note_alone(plan, &plan->pieces[from]);
    }
    join_granules(plan);
    qsort(plan->pieces, plan->n_pieces, sizeof(*plan->pieces), sf_merge_plan_by_first);
}

static enum sf_err add_output(struct sf_merge_plan *plan, size_t first, struct sf_why *why)
{
    if (!sf_list_room(&plan->outputs, plan->n_outputs, &plan->outputs_cap, 8))
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory to merge into %zu blocks",
                       plan->n_outputs + 1);
    plan->outputs[plan->n_outputs++] = (struct sf_merge_plan_output){
        .first = first, .window = plan->pieces[first].window, .tenant = plan->pieces[first].tenant};
    return SF_OK;
}

static enum sf_err merge_plan_outputs(struct sf_merge_plan *plan, struct sf_why *why)
{
    for (size_t i = 0; i < plan->n_pieces; i++) {
        const struct sf_merge_piece *p = &plan->pieces[i];
        struct sf_merge_plan_output *o = plan->n_outputs ? &plan->outputs[plan->n_outputs - 1]
                                                         : NULL;
        bool is_new = !o || o->window != p->window ||
                      (plan->split == SF_SPLIT_HOUR && o->tenant != p->tenant) ||
                      (o->n_rows >= plan->block_rows &&
                       !sf_merge_plan_same_trace(p, &plan->pieces[i - 1]));
        if (is_new) {
            enum sf_err err = add_output(plan, i, why);
            if (err)
                return err;
            o = &plan->outputs[plan->n_outputs - 1];
        }
        if (o->tenant != p->tenant)
            o->tenant = 0;
        o->n++;
        o->n_whole += p->is_whole;
        o->n_rows += p->n_visible;
    }
    for (size_t i = 0; i < plan->n_outputs; i++) {
        const struct sf_merge_plan_output *o = &plan->outputs[i];
        if (o->n_whole)
            qsort(plan->pieces + o->first, o->n, sizeof(*plan->pieces), by_way);
    }
    if (plan->n_outputs > UINT16_MAX)
        return sf_fail(why, SF_ERR_LIMIT, "store: one merge would make %zu blocks",
                       plan->n_outputs);
    return SF_OK;
}

enum sf_err sf_merge_plan_make(struct sf_merge_plan *plan, struct sf_why *why)
{
    merge_plan_join_traces(plan);
    return merge_plan_outputs(plan, why);
}

void sf_merge_plan_done(struct sf_merge_plan *plan)
{
    sf_heap_free(plan->pieces);
    sf_heap_free(plan->outputs);
}
