#include "decode/id_map.h"

#include "base/hash.h"

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

static uint32_t slot_of(const struct sf_id_map *m, uint64_t id)
{
    uint32_t at = (uint32_t)sf_hash_mix(0, id) & (m->n_slots - 1);
    while (m->slots[at] && m->ids[m->slots[at] - 1] != id)
        at = (at + 1) & (m->n_slots - 1);
    return at;
}

uint32_t sf_id_map_close(struct sf_id_map *m, struct sf_profile_build *b)
{
    uint32_t n_slots = 16, n_doubles = 0, n_dense = 0;
    while (n_dense < m->n && m->ids[n_dense] == (uint64_t)n_dense + 1)
        n_dense++;
    if (n_dense == m->n)
        return 0;
    while (n_slots / 2 < m->n)
        n_slots *= 2;
    m->slots = sf_profile_new(b, n_slots, sizeof(*m->slots));
    if (!m->slots)
        return 0;
    m->n_slots = n_slots;
    for (uint32_t i = 0; i < m->n; i++) {
        uint32_t at = slot_of(m, m->ids[i]);
        if (m->slots[at])
            n_doubles++;
        else
            m->slots[at] = i + 1;
    }
    return n_doubles;
}

uint32_t sf_id_map_find(const struct sf_id_map *m, uint64_t id)
{
    if (m->slots) {
        uint32_t at = m->slots[slot_of(m, id)];
        return at ? at - 1 : SF_NONE;
    }
    return id - 1 < m->n ? (uint32_t)(id - 1) : SF_NONE; /* 0 wraps to the far end */
}
