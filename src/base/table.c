#include "base/table.h"

#include <string.h>

#include "base/arena.h"
#include "base/heap.h"

enum { FIRST_SLOTS = 32, FRESH_LEN = 64 << 10 };

_Thread_local uint64_t sf_table_steps;

/* Large memory of the heap is fresh: the kernel has not provided its pages yet. A lookup reads a
 * slot before it is written; each page would then be provided twice, first as a page of zeroes that
 * all share, and replacing that one stops the threads on other processors. So all are written
 * first. */
static uint64_t *new_slots(const struct sf_table *t, uint32_t n)
{
    uint64_t *slots = t->arena ? sf_arena_new_n(t->arena, n, sizeof(*slots))
                               : sf_heap_new_n(n, sizeof(*slots));
    if (slots && !t->arena && n >= FRESH_LEN / sizeof(*slots))
        memset(slots, 0, n * sizeof(*slots));
    return slots;
}

static void free_slots(struct sf_table *t)
{
    if (!t->arena)
        sf_heap_free(t->slots);
}

void sf_table_done(struct sf_table *t)
{
    free_slots(t);
    *t = (struct sf_table){.arena = t->arena};
}

static void base_table_put(uint64_t *slots, uint32_t n_slots, uint64_t slot)
{
    /* Only the high half of each hash is stored; it selects the slot. */
    uint32_t at = (uint32_t)(slot >> 32) & (n_slots - 1);
    while (slots[at])
        at = (at + 1) & (n_slots - 1);
    slots[at] = slot;
}

static bool resize(struct sf_table *t, uint32_t n)
{
    uint64_t *slots = new_slots(t, n);
    if (!slots)
        return false;
    for (uint32_t i = 0; i < t->n_slots; i++) {
        if (t->slots[i])
            base_table_put(slots, n, t->slots[i]);
    }
    free_slots(t);
    t->slots = slots;
    t->n_slots = t->cap = n;
    return true;
}

bool sf_table_grow(struct sf_table *t)
{
    if (t->n_slots > UINT32_MAX / 4)
        return false;
    return resize(t, t->n_slots ? t->n_slots * 2 : FIRST_SLOTS);
}

/* Number of slots for `n` entries, at least `n_slots`; 0: too many. */
static uint32_t slots_for(uint64_t n, uint32_t n_slots)
{
    while (n_slots / 4 * 3 < n) {
        if (n_slots > UINT32_MAX / 4)
            return 0;
        n_slots *= 2;
    }
    return n_slots;
}

bool sf_table_reserve(struct sf_table *t, uint32_t n)
{
    uint32_t n_slots = slots_for((uint64_t)t->n + n, t->n_slots ? t->n_slots : FIRST_SLOTS);
    return n_slots && (n_slots == t->n_slots || resize(t, n_slots));
}

bool sf_table_reset(struct sf_table *t, uint32_t n)
{
    uint32_t n_slots = slots_for(n, FIRST_SLOTS);
    if (!n_slots)
        return false;
    if (n_slots > t->cap) {
        uint64_t *slots = new_slots(t, n_slots);
        if (!slots)
            return false;
        free_slots(t);
        t->slots = slots;
        t->cap = n_slots;
    } else {
        memset(t->slots, 0, n_slots * sizeof(*t->slots));
    }
    t->n_slots = n_slots;
    t->n = 0;
    return true;
}

void sf_table_clear(struct sf_table *t)
{
    if (t->n)
        memset(t->slots, 0, t->n_slots * sizeof(*t->slots));
    t->n = 0;
}

/* Frees slot `at`: moves following entries back to where a lookup expects them. */
static void free_slot(struct sf_table *t, uint32_t at)
{
    uint32_t mask = t->n_slots - 1;
    for (uint32_t next = (at + 1) & mask; t->slots[next]; next = (next + 1) & mask) {
        uint32_t home = (uint32_t)(t->slots[next] >> 32) & mask;
        if (((next - home) & mask) >= ((next - at) & mask)) {
            t->slots[at] = t->slots[next];
            at = next;
        }
    }
    t->slots[at] = 0;
    t->n--;
}

void sf_table_drop(struct sf_table *t, uint64_t hash, uint32_t place)
{
    struct sf_table_lookup lookup = sf_table_lookup(t, hash);
    uint32_t found;
    while (sf_table_next(&lookup, &found)) {
        if (found == place) {
            free_slot(t, (lookup.at - 1) & (t->n_slots - 1));
            return;
        }
    }
}

void sf_table_cut(struct sf_table *t, uint32_t n)
{
    for (uint32_t i = 0; i < t->n_slots;) {
        if (t->slots[i] && (uint32_t)t->slots[i] > n)
            free_slot(t, i); /* another entry may have moved here */
        else
            i++;
    }
}
