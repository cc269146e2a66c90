/* queue.h - a bounded queue of pointers between threads. When it is full, give returns BUSY. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sf_queue;

struct sf_queue *sf_queue_new(size_t cap); /* NULL: no memory */
void sf_queue_free(
    struct sf_queue *q); /* must be empty or its items belong elsewhere; NULL is fine */
/* BUSY when full, CANCELLED when closed; then the item still belongs to the caller. Never waits. */
enum sf_err sf_queue_give(struct sf_queue *q, void *item);
/* Waits for an item; NULL once the queue is closed and empty. */
void *sf_queue_take(struct sf_queue *q);
/* NULL also when `deadline_ns` (monotonic) passes first. */
void *sf_queue_take_until(struct sf_queue *q, int64_t deadline_ns);
/* Takes all items, up to `max`, without waiting. */
size_t sf_queue_take_many(struct sf_queue *q, void **out, size_t max);
size_t sf_queue_depth(struct sf_queue *q);
void sf_queue_close(struct sf_queue *q); /* no more items are accepted; takers get the remaining
                                          * ones, then NULL */
