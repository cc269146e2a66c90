#include "flame/owned.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"

static int by_node_and_ids(const void *a, const void *b)
{
    const struct sf_profile_owned *x = a, *y = b;
    int order = (x->node > y->node) - (x->node < y->node);
    if (!order)
        order = memcmp(&x->trace, &y->trace, sizeof(x->trace));
    return order ? order : (x->span > y->span) - (x->span < y->span);
}

void sf_owned_merge(struct sf_owned *o, uint32_t n)
{
    struct sf_profile_owned *list = o->list;
    o->n = 0;
    if (n)
        qsort(list, n, sizeof(*list), by_node_and_ids);
    for (uint32_t i = 0; i < n; i++) {
        if (o->n && by_node_and_ids(&list[o->n - 1], &list[i]) == 0)
            list[o->n - 1].value = sf_add_sat_i64(list[o->n - 1].value, list[i].value);
        else
            list[o->n++] = list[i];
    }
}

void sf_owned_move(struct sf_owned *o, const uint32_t *nodes)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < o->n; i++) {
        struct sf_profile_owned one = o->list[i];
        one.node = nodes[one.node];
        if (one.node != SF_NONE)
            o->list[n++] = one;
    }
    sf_owned_merge(o, n);
}

void sf_owned_fit(struct sf_owned *o, const struct sf_tree *tree)
{
    uint32_t n = 0, node = SF_NONE;
    int64_t left = 0;
    for (uint32_t i = 0; i < o->n; i++) {
        struct sf_profile_owned one = o->list[i];
        if (one.node != node) {
            node = one.node;
            left = node < tree->n_nodes ? tree->nodes[node].self : 0;
        }
        if (one.value > left)
            one.value = left;
        if (one.value <= 0)
            continue;
        left -= one.value;
        o->list[n++] = one;
    }
    o->n = n;
}
