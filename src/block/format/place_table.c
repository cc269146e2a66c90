#include "block/format/place_table.h"

#include "base/heap.h"

enum { FIRST_SLOTS = 64 };

void sf_place_table_done(struct sf_place_table *t)
{
    sf_heap_free(t->slots);
    *t = (struct sf_place_table){0};
}

bool sf_place_table_grow(struct sf_place_table *t)
{
    uint32_t n = t->n_slots ? t->n_slots * 2 : FIRST_SLOTS;
    uint64_t *slots = t->n_slots > UINT32_MAX / 4 ? NULL : sf_heap_new_n(n, sizeof(*slots));
    if (!slots)
        return false;
    /* Only the high half of each hash is at hand: it is what slots are chosen by. */
    for (uint32_t i = 0; i < t->n_slots; i++) {
        uint32_t at = (uint32_t)(t->slots[i] >> 32) & (n - 1);
        if (!t->slots[i])
            continue;
        while (slots[at])
            at = (at + 1) & (n - 1);
        slots[at] = t->slots[i];
    }
    sf_heap_free(t->slots);
    t->slots = slots;
    t->n_slots = n;
    return true;
}
