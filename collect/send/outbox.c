#include "collect/send/outbox.h"

#include <string.h>

#include "base/heap.h"

static size_t outbox_size_of(size_t cap)
{
    return sizeof(struct sf_outbox_piece) + cap;
}

static struct sf_outbox_piece *outbox_add_piece(struct sf_outbox *o, uint32_t cap)
{
    struct sf_outbox_piece *p;
    if (o->max < outbox_size_of(cap) || atomic_load(&o->held) > o->max - outbox_size_of(cap))
        return NULL;
    p = sf_heap_grow(NULL, outbox_size_of(cap), 1); /* not zeroed */
    if (!p)
        return NULL;
    p->next = NULL;
    p->cap = cap;
    p->len = p->n_records = 0;
    atomic_fetch_add(&o->held, outbox_size_of(cap));
    if (o->last)
        o->last->next = p;
    else
        o->first = p;
    o->last = p;
    return p;
}

static void outbox_append(struct sf_outbox_piece *p, sf_bytes record, uint32_t n_records)
{
    memcpy(p->bytes + p->len, record.p, record.len);
    p->len += (uint32_t)record.len;
    p->n_records += n_records;
}

bool sf_outbox_add_whole(struct sf_outbox *o, sf_bytes request, uint32_t n_records)
{
    struct sf_outbox_piece *p;
    if (request.len > UINT32_MAX)
        return false;
    sf_lock_take(&o->lock);
    p = outbox_add_piece(o, (uint32_t)request.len);
    if (p)
        outbox_append(p, request, n_records);
    sf_lock_give(&o->lock);
    return p != NULL;
}

bool sf_outbox_add(struct sf_outbox *o, sf_bytes record)
{
    struct sf_outbox_piece *p;
    if (record.len > SF_OUTBOX_PIECE_CAP)
        return false;
    sf_lock_take(&o->lock);
    p = o->last;
    if (!p || record.len > p->cap - p->len)
        p = outbox_add_piece(o, SF_OUTBOX_PIECE_CAP);
    if (p)
        outbox_append(p, record, 1);
    sf_lock_give(&o->lock);
    return p != NULL;
}

struct sf_outbox_piece *sf_outbox_take(struct sf_outbox *o, size_t max_len)
{
    struct sf_outbox_piece *first, *last = NULL;
    size_t len = 0;

    sf_lock_take(&o->lock);
    first = o->first;
    for (struct sf_outbox_piece *p = first; p; p = p->next) {
        if (last && len + p->len > max_len)
            break;
        len += p->len;
        last = p;
    }
    if (last) {
        o->first = last->next;
        last->next = NULL;
        if (!o->first)
            o->last = NULL;
        o->taken = first;
    }
    sf_lock_give(&o->lock);
    return first;
}

static void outbox_free(struct sf_outbox *o, struct sf_outbox_piece *list)
{
    while (list) {
        struct sf_outbox_piece *next = list->next;
        atomic_fetch_sub(&o->held, outbox_size_of(list->cap));
        sf_heap_free(list);
        list = next;
    }
}

/* Clears `taken` before freeing: a fork in between leaks the rest of the list in the child, which
 * is freed once in the parent. */
void sf_outbox_give_back(struct sf_outbox *o, struct sf_outbox_piece *list)
{
    sf_lock_take(&o->lock);
    o->taken = NULL;
    sf_lock_give(&o->lock);
    outbox_free(o, list);
}

bool sf_outbox_is_empty(struct sf_outbox *o)
{
    bool is_empty;
    sf_lock_take(&o->lock);
    is_empty = !o->first;
    sf_lock_give(&o->lock);
    return is_empty;
}

size_t sf_outbox_held(const struct sf_outbox *o)
{
    return atomic_load_explicit(&o->held, memory_order_relaxed);
}

void sf_outbox_forget(struct sf_outbox *o)
{
    struct sf_outbox_piece *queued = o->first, *taken = o->taken;
    sf_lock_reset(&o->lock);
    o->first = o->last = o->taken = NULL;
    outbox_free(o, queued);
    outbox_free(o, taken);
    atomic_store(&o->held, 0);
}
