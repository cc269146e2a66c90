/* frame_functions.c - numbers functions: frames that differ only by line are one function. */
#include "link/frame_functions.h"

#include "flame/frame_name.h"
#include "flame/tree_builder.h"

enum sf_err sf_frame_functions_make(const struct sf_tree *t, struct sf_arena *req,
                                    struct sf_frame_functions *out, struct sf_why *why)
{
    struct sf_tree_builder b;
    uint32_t *of = sf_arena_new_n(req, t->n_frames + 1u, sizeof(*of));
    sf_str *names = sf_arena_new_n(req, t->n_frames + 1u, sizeof(*names));
    bool is_full = !of || !names;
    uint32_t n = 0;
    sf_tree_builder_init(&b, req, 0, SF_TREE_BORROWS);
    for (uint32_t i = 0; i < t->n_frames && !is_full; i++) {
        struct sf_frame f = {0};
        is_full = !sf_frame_name(&t->frames[i], SF_GROUP_FUNCTION, req, &f.function);
        of[i] = is_full ? SF_NONE : sf_tree_builder_frame(&b, &f);
        is_full = of[i] == SF_NONE;
        if (!is_full && of[i] == n)
            names[n++] = f.function;
    }
    sf_tree_builder_done(&b);
    if (is_full)
        return sf_fail(why, SF_ERR_LIMIT, "no memory for the names of %u frames", t->n_frames);
    *out = (struct sf_frame_functions){of, names, n};
    return SF_OK;
}
