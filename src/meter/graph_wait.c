#include "meter/graph_wait.h"

#include <string.h>

#include "base/heap.h"
#include "base/key.h"

bool sf_graph_wait_init(struct sf_graph_wait *w, uint32_t n_cap, size_t text_cap)
{
    *w = (struct sf_graph_wait){.n_cap = n_cap, .text_cap = text_cap};
    for (w->n_slots = 16; w->n_slots < n_cap; w->n_slots *= 2)
        continue;
    w->list = sf_heap_new_n(n_cap, sizeof(*w->list));
    w->slots = sf_heap_new_n(w->n_slots, sizeof(*w->slots));
    w->unused = sf_heap_new_n(n_cap, sizeof(*w->unused));
    if (!w->list || !w->slots || !w->unused) {
        sf_graph_wait_done(w);
        return false;
    }
    for (uint32_t i = 0; i < n_cap; i++)
        w->unused[i] = n_cap - 1 - i;
    return true;
}

void sf_graph_wait_done(struct sf_graph_wait *w)
{
    while (w->oldest)
        sf_graph_wait_drop(w, &w->list[w->oldest - 1]);
    sf_heap_free(w->list);
    sf_heap_free(w->slots);
    sf_heap_free(w->unused);
    *w = (struct sf_graph_wait){0};
}

/* Lists per slot instead of sf_table: any number of callees may have the same caller, so equal keys
 * are unbounded, and a new one is added at the front without visiting the others. Callers and
 * callees are in different slots, so a callee visits no other callees when it searches for its
 * caller. */
struct sf_graph_slots sf_graph_wait_slots(const struct sf_graph_wait *w, sf_str tenant,
                                          const struct sf_graph_half *half)
{
    uint64_t hash = sf_key_mix(sf_trace_id_key(half->trace_id, 0), half->key);
    uint32_t callers, callees;
    if (tenant.len)
        hash = sf_key_mix(hash, sf_key_str(tenant));
    callers = (uint32_t)(hash & (w->n_slots - 1));
    callees = (uint32_t)(sf_key_u64(hash) & (w->n_slots - 1));
    return half->is_caller ? (struct sf_graph_slots){callers, callees}
                           : (struct sf_graph_slots){callees, callers};
}

void sf_graph_wait_prefetch(const struct sf_graph_wait *w, struct sf_graph_slots slots)
{
    __builtin_prefetch(&w->slots[slots.own], 1);
    __builtin_prefetch(&w->slots[slots.other]);
}

void sf_graph_wait_prefetch_entries(const struct sf_graph_wait *w, struct sf_graph_slots slots)
{
    uint32_t own = w->slots[slots.own], other = w->slots[slots.other];
    if (own)
        __builtin_prefetch(&w->list[own - 1].prev, 1);
    if (other) {
        __builtin_prefetch(&w->list[other - 1]);
        __builtin_prefetch(&w->list[other - 1].next);
    }
}

void sf_graph_wait_prefetch_oldest(const struct sf_graph_wait *w)
{
    const struct sf_graph_waiting *next;
    if (!w->oldest || !w->list[w->oldest - 1].newer)
        return;
    next = &w->list[w->list[w->oldest - 1].newer - 1];
    __builtin_prefetch(&w->slots[next->slot], 1);
    if (!next->newer)
        return;
    next = &w->list[next->newer - 1];
    __builtin_prefetch(next, 1);
    __builtin_prefetch(&next->prev, 1);
    __builtin_prefetch(next->own + SF_GRAPH_OWN_LEN - 1, 1);
}

struct sf_graph_waiting *sf_graph_wait_find(struct sf_graph_wait *w, sf_str tenant,
                                            const struct sf_graph_half *half,
                                            struct sf_graph_slots slots)
{
    for (uint32_t at = w->slots[slots.other]; at; at = w->list[at - 1].next) {
        struct sf_graph_waiting *other = &w->list[at - 1];
        if (other->half.key == half->key && other->half.is_caller != half->is_caller &&
            sf_trace_id_eq(other->half.trace_id, half->trace_id) &&
            sf_str_eq(other->tenant, tenant))
            return other;
    }
    return NULL;
}

static sf_str graph_wait_put(char **at, sf_str s)
{
    sf_str out = {*at, s.len};
    if (s.len)
        memcpy(*at, s.p, s.len);
    *at += s.len;
    return out;
}

static size_t text_len(const struct sf_graph_waiting *x)
{
    return x->half.node.len + x->half.peer.len + x->tenant.len;
}

bool sf_graph_wait_add(struct sf_graph_wait *w, sf_str tenant, const struct sf_graph_half *half,
                       struct sf_graph_slots slots, int64_t now_ns)
{
    size_t len = half->node.len + half->peer.len + tenant.len;
    if (w->n == w->n_cap || len > w->text_cap - w->text_len)
        return false;
    char *text = len > SF_GRAPH_OWN_LEN ? sf_heap_new(len) : NULL, *at;
    if (len > SF_GRAPH_OWN_LEN && !text)
        return false;
    uint32_t place = w->unused[w->n_cap - 1 - w->n];
    struct sf_graph_waiting *x = &w->list[place];
    x->half = *half;
    x->since_ns = now_ns;
    x->prev = x->newer = 0;
    x->text = at = text ? text : x->own;
    x->half.node = graph_wait_put(&at, half->node);
    x->half.peer = graph_wait_put(&at, half->peer);
    x->tenant = graph_wait_put(&at, tenant);
    x->slot = slots.own;
    x->next = w->slots[x->slot];
    if (x->next)
        w->list[x->next - 1].prev = place + 1;
    w->slots[x->slot] = place + 1;
    x->older = w->youngest;
    if (w->youngest)
        w->list[w->youngest - 1].newer = place + 1;
    else
        w->oldest = place + 1;
    w->youngest = place + 1;
    w->text_len += len;
    w->n++;
    return true;
}

struct sf_graph_waiting *sf_graph_wait_oldest(struct sf_graph_wait *w)
{
    return w->oldest ? &w->list[w->oldest - 1] : NULL;
}

void sf_graph_wait_drop(struct sf_graph_wait *w, struct sf_graph_waiting *x)
{
    uint32_t place = (uint32_t)(x - w->list);
    *(x->prev ? &w->list[x->prev - 1].next : &w->slots[x->slot]) = x->next;
    if (x->next)
        w->list[x->next - 1].prev = x->prev;
    *(x->older ? &w->list[x->older - 1].newer : &w->oldest) = x->newer;
    *(x->newer ? &w->list[x->newer - 1].older : &w->youngest) = x->older;
    w->text_len -= text_len(x);
    if (x->text != x->own)
        sf_heap_free(x->text);
    x->text = NULL;
    w->n--;
    w->unused[w->n_cap - 1 - w->n] = place;
}
