#include "decode/id_map.h"

bool sf_id_map_init(struct sf_id_map *m, struct sf_profile_build *b, uint32_t cap)
{
    *m = (struct sf_id_map){.cap = cap};
    m->ids = sf_profile_new(b, cap + 1u, sizeof(*m->ids));
    m->places = sf_profile_new(b, cap + 1u, sizeof(*m->places));
    return m->ids && m->places;
}

void sf_id_map_add(struct sf_id_map *m, uint64_t id, uint32_t place)
{
    if (m->n == m->cap)
        return;
    m->ids[m->n] = id;
    m->places[m->n++] = place;
}

/* The index of the id, or SF_NONE; then `lookup` is where a new one is added. */
static uint32_t id_map_find(const struct sf_id_map *m, uint64_t id, struct sf_table_lookup *lookup)
{
    uint32_t at;
    *lookup = sf_table_lookup(&m->at, sf_key_u64(id));
    while (sf_table_next(lookup, &at)) {
        if (m->ids[at] == id)
            return at;
    }
    return SF_NONE;
}

uint32_t sf_id_map_close(struct sf_id_map *m, struct sf_profile_build *b)
{
    uint32_t n_doubles = 0, n_dense = 0;
    while (n_dense < m->n && m->ids[n_dense] == (uint64_t)n_dense + 1)
        n_dense++;
    if (n_dense == m->n)
        return 0;
    m->at.arena = b->a;
    if (!sf_table_reset(&m->at, m->n)) {
        b->is_full = true;
        return 0;
    }
    for (uint32_t i = 0; i < m->n; i++) {
        struct sf_table_lookup lookup;
        if (id_map_find(m, m->ids[i], &lookup) != SF_NONE)
            n_doubles++;
        else
            sf_table_keep(&m->at, &lookup, i);
    }
    return n_doubles;
}

uint32_t sf_id_map_find(const struct sf_id_map *m, uint64_t id)
{
    struct sf_table_lookup lookup;
    if (m->at.n_slots)
        return id_map_find(m, id, &lookup);
    return id - 1 < m->n ? (uint32_t)(id - 1) : SF_NONE; /* id 0 wraps around to a large number */
}
