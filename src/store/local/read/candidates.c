#include "store/local/read/candidates.h"

#include "base/heap.h"
#include "base/heap_queue.h"

enum { MAX_CANDIDATES = 1 << 20 };

void sf_candidates_done(struct sf_candidates *c)
{
    sf_heap_free(c->list);
    sf_heap_free(c->heap);
    sf_table_done(&c->at);
}

static bool cand_before(const void *arg, const void *a, const void *b)
{
    const struct sf_candidates *c = arg;
    const struct sf_candidate *x = &c->list[*(const uint32_t *)a];
    const struct sf_candidate *y = &c->list[*(const uint32_t *)b];
    int id;
    if (x->start_ns != y->start_ns)
        return c->is_newest_first ? x->start_ns > y->start_ns : x->start_ns < y->start_ns;
    id = sf_trace_id_cmp(x->id, y->id);
    return id ? id < 0 : x->tenant < y->tenant;
}

void sf_candidates_moved(struct sf_candidates *c)
{
    sf_heap_queue_sink(c->heap, c->n, 0, sizeof(*c->heap), cand_before, c);
}

void sf_candidates_sort(struct sf_candidates *c)
{
    sf_heap_queue_make(c->heap, c->n, sizeof(*c->heap), cand_before, c);
}

static enum sf_err grow_cands(struct sf_candidates *c, struct sf_why *why)
{
    uint32_t cap = c->cap ? c->cap * 2 : 256;
    struct sf_candidate *list;
    uint32_t *heap;
    if (cap > MAX_CANDIDATES)
        return sf_fail(why, SF_ERR_LIMIT,
                       "query: more than %d traces match; narrow the time range or set a limit",
                       MAX_CANDIDATES / 2);
    list = sf_heap_grow(c->list, cap, sizeof(*list));
    if (list)
        c->list = list;
    heap = sf_heap_grow(c->heap, cap, sizeof(*heap));
    if (heap)
        c->heap = heap;
    if (!list || !heap || !sf_table_reserve(&c->at, cap - c->n))
        return sf_fail(why, SF_ERR_NOMEM, "query: no memory for the traces found");
    c->cap = cap;
    return SF_OK;
}

enum sf_err sf_candidates_add(struct sf_candidates *c, uint32_t tenant, sf_trace_id id,
                              int64_t start_ns, struct sf_candidate_spot spot, struct sf_why *why)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (c->free_plus_1 == 0 && c->n_list == c->cap) {
        enum sf_err err = grow_cands(c, why);
        if (err)
            return err;
    }
    lookup = sf_table_lookup(&c->at, sf_trace_id_key(id, tenant));
    while (sf_table_next(&lookup, &at)) {
        if (c->list[at].tenant == tenant && sf_trace_id_eq(c->list[at].id, id))
            return SF_OK; /* an earlier start is found when the trace is loaded */
    }
    if (c->free_plus_1) {
        at = c->free_plus_1 - 1;
        c->free_plus_1 = c->list[at].next;
    } else {
        at = c->n_list++;
    }
    c->list[at] = (struct sf_candidate){
        .spot = spot, .id = id, .tenant = tenant, .start_ns = start_ns};
    sf_table_keep(&c->at, &lookup, at);
    c->heap[c->n] = at;
    sf_heap_queue_rise(c->heap, c->n++, sizeof(at), cand_before, c);
    return SF_OK;
}

void sf_candidates_drop(struct sf_candidates *c)
{
    uint32_t at = c->heap[0];
    sf_table_drop(&c->at, sf_trace_id_key(c->list[at].id, c->list[at].tenant), at);
    c->list[at] = (struct sf_candidate){.next = c->free_plus_1};
    c->free_plus_1 = at + 1;
    sf_heap_queue_pop(c->heap, c->n--, sizeof(at), cand_before, c);
}
