/* id_map.h - maps a format's own 64-bit ids to indexes. Ids are usually 1, 2, 3, ..., which needs
 * no table; others are hashed. Private to this module. */
#pragma once
#include "base/table.h"
#include "decode/profile_build.h"

struct sf_id_map {
    uint64_t *ids;
    uint32_t *places; /* beside ids */
    uint32_t n, cap;
    struct sf_table at; /* indexes, when the ids are not dense */
};

/* Reserves space for `cap` ids. False: the arena is full. */
bool sf_id_map_init(struct sf_id_map *m, struct sf_profile_build *b, uint32_t cap);
void sf_id_map_add(struct sf_id_map *m, uint64_t id, uint32_t place); /* at most `cap` times */
/* To be called after the last add. Of equal ids the first is used; returns how many others there
 * were. */
uint32_t sf_id_map_close(struct sf_id_map *m, struct sf_profile_build *b);
/* The index among those added, or SF_NONE. */
uint32_t sf_id_map_find(const struct sf_id_map *m, uint64_t id);
static inline uint32_t sf_id_map_place(const struct sf_id_map *m, uint64_t id)
{
    uint32_t at = sf_id_map_find(m, id);
    return at == SF_NONE ? SF_NONE : m->places[at];
}
