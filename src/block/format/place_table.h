/* place_table.h - where in a list a record is, looked up by its content.
 *
 * The records stay in their list and nowhere else; the table knows half of each one's hash and its
 * place. So it is asked for candidates, and who asks compares:
 *
 *     struct sf_place_look look = sf_place_look(t, hash);
 *     while (sf_place_next(&look, &place))
 *         if (it is the one)
 *             return place;
 *     sf_place_keep(t, &look, place of the new one); */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sf_place_table {
    uint64_t *slots; /* high half of the hash, then place + 1; 0: free */
    uint32_t n_slots, n;
};

void sf_place_table_done(struct sf_place_table *t); /* a zeroed one is fine */
bool sf_place_table_grow(struct sf_place_table *t);
static inline size_t sf_place_table_memory(const struct sf_place_table *t)
{
    return t->n_slots * sizeof(*t->slots);
}

/* Room for one more, which comes before the look. False: no memory. */
static inline bool sf_place_table_more(struct sf_place_table *t)
{
    return t->n < t->n_slots / 4 * 3 || sf_place_table_grow(t);
}

struct sf_place_look {
    const struct sf_place_table *t;
    uint32_t at, half;
};

static inline struct sf_place_look sf_place_look(const struct sf_place_table *t, uint64_t hash)
{
    uint32_t half = (uint32_t)(hash >> 32);
    return (struct sf_place_look){t, half & (t->n_slots - 1), half};
}

/* The next place whose record may be the one; false: it is not there. */
static inline bool sf_place_next(struct sf_place_look *look, uint32_t *out)
{
    const struct sf_place_table *t = look->t;
    uint64_t slot;
    while ((slot = t->slots[look->at])) {
        if (slot >> 32 == look->half) {
            *out = (uint32_t)slot - 1;
            look->at = (look->at + 1) & (t->n_slots - 1);
            return true;
        }
        look->at = (look->at + 1) & (t->n_slots - 1);
    }
    return false;
}

/* After a look that found nothing. */
static inline void sf_place_keep(struct sf_place_table *t, const struct sf_place_look *look,
                                 uint32_t place)
{
    t->slots[look->at] = (uint64_t)look->half << 32 | (place + 1);
    t->n++;
}
