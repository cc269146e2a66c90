#include "render/folded.h"

#include <inttypes.h>

#include "flame/tree_order.h"
#include "render/known.h"
#include "render/units.h"

/* A line is one stack: a name must not contain semicolons or line ends, nor characters that change
 * the text direction. */
static void folded_add_name(struct sf_buf *out, sf_str name)
{
    size_t from = out->len;
    sf_units_plain(out, name);
    for (size_t i = from; i < out->len; i++) {
        if (out->p[i] == ';')
            out->p[i] = ':';
    }
}

/* The current path is kept as text and shortened when the walk goes up. */
enum sf_err sf_folded_render(const struct sf_profile_view *v, struct sf_arena scratch,
                             struct sf_buf *out, struct sf_why *why)
{
    struct sf_tree marked;
    const struct sf_tree *t = &marked;
    struct sf_tree_order order;
    struct sf_buf path = {0};
    size_t *ends;
    int64_t *totals;
    enum sf_err err = sf_known_tree(v, &scratch, &marked, why);
    if (!err)
        err = sf_tree_order_totals(t, &scratch, &totals, why);
    if (!err)
        err = sf_tree_order(t, totals, SF_TREE_BY_NAME, &scratch, &order, why);
    if (err)
        return err;
    ends = sf_arena_new_n(&scratch, (size_t)order.max_depth + 1, sizeof(*ends));
    if (!ends)
        return sf_no_room(why, "the answer");
    for (uint32_t i = 0; i < t->n_nodes && sf_buf_ok(&path); i++) {
        uint32_t place = order.places[i], depth = order.depths[i];
        int64_t self = t->nodes[place].self;
        if (depth) {
            path.len = ends[depth - 1];
            if (depth > 1)
                sf_buf_add_u8(&path, ';');
            folded_add_name(&path, t->frames[t->nodes[place].frame].function);
            ends[depth] = path.len;
        }
        if (!self)
            continue;
        sf_buf_add_str(out, depth ? sf_buf_str(&path) : SF_STR("(no stack)"));
        sf_buf_print(out, " %" PRId64 "\n", self);
    }
    err = path.err ? path.err : out->err;
    sf_buf_done(&path);
    return err ? sf_fail(why, err, "folded stacks: no memory") : SF_OK;
}
