#include "block/format/shapes.h"

#include <string.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"

enum { MAX_KEPT_SLOTS = 65536 }; /* more are given back by a reset */

static uint32_t slot_at(const struct sf_shapes *s, uint64_t edge)
{
    uint32_t at = (uint32_t)sf_hash_mix(0, edge) & (s->n_slots - 1);
    while (s->slots[at].child && s->slots[at].edge != edge)
        at = (at + 1) & (s->n_slots - 1);
    return at;
}

static bool grow_slots(struct sf_shapes *s)
{
    struct sf_shape_slot *old = s->slots, *slots;
    uint32_t n_old = s->n_slots, n_slots = n_old ? n_old * 4 : 512;

    slots = sf_heap_new_n(n_slots, sizeof(*slots));
    if (!slots)
        return false;
    s->slots = slots;
    s->n_slots = n_slots;
    for (uint32_t i = 0; i < n_old; i++) {
        if (old[i].child)
            slots[slot_at(s, old[i].edge)] = old[i];
    }
    sf_heap_free(old);
    return true;
}

bool sf_shapes_reset(struct sf_shapes *s)
{
    if (s->n_slots > MAX_KEPT_SLOTS)
        sf_shapes_done(s);
    if (s->cap < SF_ROOTS && !sf_list_room(&s->nodes, s->cap, &s->cap, 256))
        return false;
    if (s->n_slots == 0 && !grow_slots(s))
        return false;
    memset(s->nodes, 0, SF_ROOTS * sizeof(*s->nodes));
    s->n = SF_ROOTS;
    memset(s->slots, 0, s->n_slots * sizeof(*s->slots));
    return true;
}

void sf_shapes_done(struct sf_shapes *s)
{
    sf_heap_free(s->nodes);
    sf_heap_free(s->slots);
    *s = (struct sf_shapes){0};
}

size_t sf_shapes_memory(const struct sf_shapes *s)
{
    return s->cap * sizeof(*s->nodes) + s->n_slots * sizeof(*s->slots);
}

uint32_t sf_shapes_find(const struct sf_shapes *s, uint32_t parent, uint32_t key)
{
    return s->slots[slot_at(s, (uint64_t)parent << 32 | key)].child;
}

bool sf_shapes_step(struct sf_shapes *s, uint32_t parent, uint32_t key, uint32_t *out)
{
    uint64_t edge = (uint64_t)parent << 32 | key;
    uint32_t child = sf_shapes_find(s, parent, key);

    if (child) {
        *out = child;
        return true;
    }
    if ((s->n * 2 >= s->n_slots && !grow_slots(s)) || !sf_list_room(&s->nodes, s->n, &s->cap, 256))
        return false;
    s->slots[slot_at(s, edge)] = (struct sf_shape_slot){edge, s->n};
    s->nodes[s->n] = (struct sf_shape_node){
        .parent = parent,
        .key = key,
        .n_keys = s->nodes[parent].n_keys + 1,
        .next_sibling = s->nodes[parent].first_child,
    };
    s->nodes[parent].first_child = s->n;
    *out = s->n++;
    return true;
}

void sf_shapes_keys(const struct sf_shapes *s, uint32_t node, uint32_t *out)
{
    for (const struct sf_shape_node *n = &s->nodes[node]; n->n_keys; n = &s->nodes[n->parent])
        out[n->n_keys - 1] = n->key;
}
