#include "os/queue.h"

#include "base/heap.h"
#include "os/thread.h"

struct sf_queue {
    struct sf_mutex lock; /* guards all below; no other lock is taken while it is held */
    struct sf_condvar has_items;
    size_t cap, head, n;
    bool is_closed;
    void *items[];
};

struct sf_queue *sf_queue_new(size_t cap)
{
    struct sf_queue *q = sf_heap_new(sizeof(*q) + cap * sizeof(void *));
    if (!q)
        return NULL;
    q->cap = cap;
    sf_mutex_init(&q->lock, SF_LOCK_OS_QUEUE);
    sf_condvar_init(&q->has_items);
    return q;
}

void sf_queue_free(struct sf_queue *q)
{
    if (!q)
        return;
    sf_mutex_done(&q->lock);
    sf_condvar_done(&q->has_items);
    sf_heap_free(q);
}

enum sf_err sf_queue_give(struct sf_queue *q, void *item)
{
    enum sf_err err = SF_OK;
    sf_mutex_lock(&q->lock);
    if (q->is_closed) {
        err = SF_ERR_CANCELLED;
    } else if (q->n == q->cap) {
        err = SF_ERR_BUSY;
    } else {
        q->items[(q->head + q->n) % q->cap] = item;
        q->n++;
        sf_condvar_wake_one(&q->has_items);
    }
    sf_mutex_unlock(&q->lock);
    return err;
}

static void *queue_pop(struct sf_queue *q)
{
    void *item;
    if (q->n == 0)
        return NULL;
    item = q->items[q->head];
    q->head = (q->head + 1) % q->cap;
    q->n--;
    return item;
}

void *sf_queue_take(struct sf_queue *q)
{
    void *item;
    sf_mutex_lock(&q->lock);
    while (q->n == 0 && !q->is_closed)
        sf_condvar_wait(&q->has_items, &q->lock);
    item = queue_pop(q);
    sf_mutex_unlock(&q->lock);
    return item;
}

void *sf_queue_take_until(struct sf_queue *q, int64_t deadline_ns)
{
    void *item;
    sf_mutex_lock(&q->lock);
    while (q->n == 0 && !q->is_closed) {
        if (!sf_condvar_wait_until(&q->has_items, &q->lock, deadline_ns))
            break;
    }
    item = queue_pop(q);
    sf_mutex_unlock(&q->lock);
    return item;
}

size_t sf_queue_take_many(struct sf_queue *q, void **out, size_t max)
{
    size_t n = 0;
    sf_mutex_lock(&q->lock);
    while (n < max && q->n)
        out[n++] = queue_pop(q);
    sf_mutex_unlock(&q->lock);
    return n;
}

size_t sf_queue_depth(struct sf_queue *q)
{
    size_t n;
    sf_mutex_lock(&q->lock);
    n = q->n;
    sf_mutex_unlock(&q->lock);
    return n;
}

void sf_queue_close(struct sf_queue *q)
{
    sf_mutex_lock(&q->lock);
    q->is_closed = true;
    sf_condvar_wake_all(&q->has_items);
    sf_mutex_unlock(&q->lock);
}
