#include "model/batch.h"

#include "base/heap.h"

struct sf_batch *sf_batch_new(size_t arena_cap)
{
    struct sf_batch *b = sf_heap_new(sizeof(*b));
    if (!b)
        return NULL;
    if (!sf_arena_init(&b->arena, arena_cap)) {
        sf_heap_free(b);
        return NULL;
    }
    return b;
}

void sf_batch_free(struct sf_batch *b)
{
    while (b) {
        struct sf_batch *next = b->next;
        sf_arena_done(&b->arena);
        sf_buf_done(&b->body);
        sf_buf_done(&b->plain);
        sf_heap_free(b);
        b = next;
    }
}
