/* table.h - a hash table that finds the index of a record in a list by its key.
 *
 * The table stores half of each key's hash and the record's index ("place") in the caller's list,
 * not the record. It returns candidates, which the caller compares:
 *
 *     struct sf_table_lookup look = sf_table_lookup(t, sf_key_u64(id));
 *     while (sf_table_next(&look, &place))
 *         if (list[place].id == id)
 *             return place;
 *     sf_table_keep(t, &look, place of the new one);
 *
 * The hash is that of base/key.h, of the key itself. Equal keys may be stored several times, but
 * each lookup visits all of them: bound their number. Slots are on the heap, or in an arena if the
 * table has one. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/key.h"

struct sf_arena;

struct sf_table {
    uint64_t *slots; /* high half of the hash, then index + 1; 0: free */
    uint32_t n_slots, n;
    uint32_t cap;           /* number of slots for which memory is allocated */
    struct sf_arena *arena; /* NULL: the heap */
};

void sf_table_done(struct sf_table *t); /* a zeroed one is fine */
bool sf_table_grow(struct sf_table *t);
/* Reserves space for `n` more. False: no memory. */
bool sf_table_reserve(struct sf_table *t, uint32_t n);
/* Empties it and reserves space for `n`; keeps its memory when that is enough. False: no memory. */
bool sf_table_reset(struct sf_table *t, uint32_t n);
void sf_table_clear(struct sf_table *t); /* empties, keeps its size */
/* Removes one entry stored under that hash. */
void sf_table_drop(struct sf_table *t, uint64_t hash, uint32_t place);
/* Removes the entries with index `n` and above, for a list that was truncated. */
void sf_table_cut(struct sf_table *t, uint32_t n);
static inline size_t sf_table_memory(const struct sf_table *t)
{
    return t->cap * sizeof(*t->slots);
}

static inline bool sf_table_has_room(const struct sf_table *t) /* for one more */
{
    return t->n < t->n_slots / 4 * 3;
}
/* Reserves space for one more, before the lookup. False: no memory. */
static inline bool sf_table_more(struct sf_table *t)
{
    return sf_table_has_room(t) || sf_table_grow(t);
}

struct sf_table_lookup {
    const struct sf_table *t;
    uint32_t at, half;
};

/* Number of slots that lookups of this thread have visited. Tests compare it: keys made to collide
 * must not cost more than random ones. */
extern _Thread_local uint64_t sf_table_steps;

/* The table must have slots: after more, grow or reset. */
static inline struct sf_table_lookup sf_table_lookup(const struct sf_table *t, uint64_t hash)
{
    uint32_t half = (uint32_t)(hash >> 32);
    return (struct sf_table_lookup){t, half & (t->n_slots - 1), half};
}

/* The index of the next candidate; false: the key is not in the table. */
static inline bool sf_table_next(struct sf_table_lookup *lookup, uint32_t *out)
{
    const struct sf_table *t = lookup->t;
    uint64_t slot;
    while ((slot = t->slots[lookup->at])) {
        lookup->at = (lookup->at + 1) & (t->n_slots - 1);
        sf_table_steps++;
        if (slot >> 32 == lookup->half) {
            *out = (uint32_t)slot - 1;
            return true;
        }
    }
    return false;
}

/* Adds an entry after a lookup that found nothing. */
static inline void sf_table_keep(struct sf_table *t, const struct sf_table_lookup *lookup,
                                 uint32_t place)
{
    t->slots[lookup->at] = (uint64_t)lookup->half << 32 | (place + 1);
    t->n++;
}

/* Adds an entry without a lookup, for keys that are known to differ. Space must be reserved. */
static inline void sf_table_put(struct sf_table *t, uint64_t hash, uint32_t place)
{
    struct sf_table_lookup lookup = sf_table_lookup(t, hash);
    uint32_t at;
    while (sf_table_next(&lookup, &at))
        continue;
    sf_table_keep(t, &lookup, place);
}

/* The first candidate of a lookup, to prefetch its record; false: none. */
static inline bool sf_table_peek(const struct sf_table *t, uint64_t hash, uint32_t *out)
{
    uint32_t half = (uint32_t)(hash >> 32);
    uint64_t slot = t->n_slots ? t->slots[half & (t->n_slots - 1)] : 0;
    *out = (uint32_t)slot - 1;
    return slot && slot >> 32 == half;
}

static inline void sf_table_prefetch(const struct sf_table *t, uint64_t hash)
{
    if (t->n_slots)
        __builtin_prefetch(&t->slots[(uint32_t)(hash >> 32) & (t->n_slots - 1)]);
}
