#include "render/pyroscope_tree.h"

#include "flame/tree_order.h"
#include "wire/pb_write.h"

enum sf_err sf_pyroscope_tree_render(const struct sf_tree *t, struct sf_arena scratch,
                                     struct sf_buf *out, struct sf_why *why)
{
    uint32_t *n_children = sf_arena_new_n(&scratch, t->n_nodes, sizeof(*n_children));
    struct sf_tree_order order;
    int64_t *totals;
    enum sf_err err = n_children ? sf_tree_order_totals(t, &scratch, &totals, why)
                                 : sf_fail(why, SF_ERR_LIMIT, "tree: no room to count children");
    if (!err)
        err = sf_tree_order(t, totals, SF_TREE_BY_NAME, &scratch, &order, why);
    if (err || t->n_nodes <= 1)
        return err;
    for (uint32_t i = 1; i < t->n_nodes; i++)
        n_children[t->nodes[i].parent]++;
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        uint32_t place = order.places[i];
        sf_str name = place ? t->frames[t->nodes[place].frame].function : SF_STR_NONE;
        sf_pb_write_raw_varint(out, name.len);
        sf_buf_add_str(out, name);
        sf_pb_write_raw_varint(out, (uint64_t)t->nodes[place].self);
        sf_pb_write_raw_varint(out, n_children[place]);
    }
    return sf_buf_ok(out) ? SF_OK : sf_fail(why, out->err, "tree: no memory");
}
