/* table.h - where in a list a record is, looked up by its key.
 *
 * The records stay in their list and nowhere else; the table knows half of each key's hash and the
 * place. So it is queried for candidates, and the caller compares:
 *
 *     struct sf_table_lookup look = sf_table_lookup(t, sf_key_u64(id));
 *     while (sf_table_next(&look, &place))
 *         if (list[place].id == id)
 *             return place;
 *     sf_table_keep(t, &look, place of the new one);
 *
 * The hash is one of base/key.h, of the key itself. Equal keys may be kept several times, but each
 * look-up walks over all of them: bound their number. Slots are on the heap, or in an arena when
 * the table reports it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/key.h"

struct sf_arena;

struct sf_table {
    uint64_t *slots; /* high half of the hash, then place + 1; 0: free */
    uint32_t n_slots, n;
    uint32_t cap;           /* slots there is memory for */
    struct sf_arena *arena; /* NULL: the heap */
};

void sf_table_done(struct sf_table *t); /* a zeroed one is fine */
bool sf_table_grow(struct sf_table *t);
/* Room for `n` more at once. False: no memory. */
bool sf_table_reserve(struct sf_table *t, uint32_t n);
/* Empties, with space for `n`; keeps the memory it has when that is enough. False: no memory. */
bool sf_table_reset(struct sf_table *t, uint32_t n);
void sf_table_clear(struct sf_table *t); /* empties, keeps its size */
/* Removes one place stored under that hash. */
void sf_table_drop(struct sf_table *t, uint64_t hash, uint32_t place);
/* Removes the places from `n` on, for a list that was truncated. */
void sf_table_cut(struct sf_table *t, uint32_t n);
static inline size_t sf_table_memory(const struct sf_table *t)
{
    return t->cap * sizeof(*t->slots);
}

static inline bool sf_table_has_room(const struct sf_table *t) /* for one more */
{
    return t->n < t->n_slots / 4 * 3;
}
/* Room for one more, queried for before the look. False: no memory. */
static inline bool sf_table_more(struct sf_table *t)
{
    return sf_table_has_room(t) || sf_table_grow(t);
}

struct sf_table_lookup {
    const struct sf_table *t;
    uint32_t at, half;
};

/* How many slots this thread has stepped over in all its look-ups. Tests compare it: keys made to
 * collide must cost what random ones cost. */
extern _Thread_local uint64_t sf_table_steps;

/* The table has slots: after more, grow or reset. */
static inline struct sf_table_lookup sf_table_lookup(const struct sf_table *t, uint64_t hash)
{
    uint32_t half = (uint32_t)(hash >> 32);
    return (struct sf_table_lookup){t, half & (t->n_slots - 1), half};
}

/* The next place whose record may be the one; false: it is not there. */
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

/* After a check that found nothing. */
static inline void sf_table_keep(struct sf_table *t, const struct sf_table_lookup *lookup,
                                 uint32_t place)
{
    t->slots[lookup->at] = (uint64_t)lookup->half << 32 | (place + 1);
    t->n++;
}

/* Without asking what is there: for keys that are known to differ. Room is there. */
static inline void sf_table_put(struct sf_table *t, uint64_t hash, uint32_t place)
{
    struct sf_table_lookup lookup = sf_table_lookup(t, hash);
    uint32_t at;
    while (sf_table_next(&lookup, &at))
        continue;
    sf_table_keep(t, &lookup, place);
}

/* What a check would come to first, for fetching its record before the look; false: nothing. */
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
