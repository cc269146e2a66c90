/* profile_same.h - trees as sorted lines of text, and exports that must read back as what they were
 * made from. */
#pragma once
#include "test.h"

#include "decode/profile_format.h"
#include "flame/batch_tree.h"
#include "flame/tree_group.h"
#include "model/answer/profile_view.h"
#include "render/folded.h"

/* Stacks by the names of their functions, each once, with a zero at the end. */
static inline void profile_same_stacks(const struct sf_tree *t, struct sf_arena *req,
                                       struct sf_buf *out)
{
    struct sf_tree by_name;
    assert_ok(
        sf_tree_group(t, (struct sf_tree_grouping){.by = SF_GROUP_FUNCTION}, req, &by_name, NULL));
    for (uint32_t i = 0; i < by_name.n_frames; i++) /* what kind of code a format cannot say */
        ((struct sf_frame *)by_name.frames)[i].kind = SF_FRAME_UNKNOWN;
    assert_ok(sf_tree_group(&by_name, (struct sf_tree_grouping){.by = SF_GROUP_FUNCTION}, req,
                            &by_name, NULL));
    assert_ok(sf_folded_render(&(struct sf_profile_view){.tree = by_name}, *req, out, NULL));
    sf_buf_add_u8(out, 0);
}

static inline void profile_same_trees(const struct sf_tree *a, const struct sf_tree *b,
                                      struct sf_arena *req)
{
    struct sf_buf got = {0}, want = {0};
    assert_int_equal(a->total, b->total);
    profile_same_stacks(a, req, &got);
    profile_same_stacks(b, req, &want);
    assert_string_equal((char *)got.p, (char *)want.p);
    sf_buf_done(&got);
    sf_buf_done(&want);
}

/* `bytes` hold the view's type, with the same tree. A count with a period of time reads as CPU
 * time, too; that is told by its type. */
static inline void profile_same_bytes(const struct sf_profile_view *v, sf_str bytes,
                                      const struct sf_profile_hint *hint, struct sf_arena *req)
{
    struct sf_profile_batch batch;
    const struct sf_batch_type *types;
    struct sf_tree back;
    struct sf_why why = {0};
    uint32_t n;
    if (sf_profile_format_decode(bytes, hint, req, &batch, &why))
        fail_msg("not readable: %s", why.text);
    assert_ok(sf_batch_tree_types(&batch, req, &types, &n, NULL));
    assert_int_equal(n, 1);
    assert_ok(sf_batch_tree(&batch, &types[0].type, req, &back, NULL));
    profile_same_trees(&back, &v->tree, req);
}

static inline enum sf_err profile_write_folded(const struct sf_profile_view *v,
                                               struct sf_arena scratch, struct sf_buf *out,
                                               struct sf_why *why)
{
    struct sf_profile_view named = *v;
    enum sf_err err = sf_tree_group(&v->tree, (struct sf_tree_grouping){.by = SF_GROUP_FUNCTION},
                                    &scratch, &named.tree, why);
    return err ? err : sf_folded_render(&named, scratch, out, why);
}
