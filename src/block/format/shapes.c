#include "block/format/shapes.h"

#include <string.h>

#include "base/heap.h"
#include "base/list.h"

enum { FIRST = 256, MAX_KEPT_SLOTS = 65536 }; /* larger tables are freed by a reset */

/* The node below `parent`, or 0; then `lookup` is the slot for a new one. */
static uint32_t shapes_find(const struct sf_shapes *s, uint32_t parent, uint32_t key,
                            struct sf_table_lookup *lookup)
{
    uint32_t node;
    *lookup = sf_table_lookup(&s->at, sf_key_u64((uint64_t)parent << 32 | key));
    while (sf_table_next(lookup, &node)) {
        if (s->nodes[node].parent == parent && s->nodes[node].key == key)
            return node;
    }
    return 0;
}

bool sf_shapes_reset(struct sf_shapes *s)
{
    if (s->at.n_slots > MAX_KEPT_SLOTS)
        sf_shapes_done(s);
    if (s->cap < SF_ROOTS && !sf_list_room(&s->nodes, s->cap, &s->cap, 256))
        return false;
    if (s->at.n_slots == 0 && !sf_table_reset(&s->at, FIRST))
        return false;
    memset(s->nodes, 0, SF_ROOTS * sizeof(*s->nodes));
    s->n = SF_ROOTS;
    sf_table_clear(&s->at);
    return true;
}

void sf_shapes_done(struct sf_shapes *s)
{
    sf_heap_free(s->nodes);
    sf_table_done(&s->at);
    *s = (struct sf_shapes){0};
}

size_t sf_shapes_memory(const struct sf_shapes *s)
{
    return s->cap * sizeof(*s->nodes) + sf_table_memory(&s->at);
}

bool sf_shapes_step(struct sf_shapes *s, uint32_t parent, uint32_t key, uint32_t *out)
{
    struct sf_table_lookup lookup;
    uint32_t child;

    if (!sf_table_more(&s->at) || !sf_list_room(&s->nodes, s->n, &s->cap, 256))
        return false;
    child = shapes_find(s, parent, key, &lookup);
    if (child) {
        *out = child;
        return true;
    }
    sf_table_keep(&s->at, &lookup, s->n);
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
