#include "decode/link_tree.h"

enum { UNKNOWN = UINT32_MAX - 1, ON_THE_WAY = UINT32_MAX - 2 };

bool sf_link_tree_init(struct sf_link_tree *t, struct sf_profile_build *b, uint32_t n)
{
    *t = (struct sf_link_tree){.b = b, .n = n};
    t->links = sf_profile_new(b, n + 1u, sizeof(*t->links));
    t->path = sf_profile_new(b, b->max_frames + SF_PROFILE_ROOT_FRAMES + 2u, sizeof(*t->path));
    for (uint32_t i = 0; t->links && i < n; i++)
        t->links[i] = (struct sf_link){SF_NONE, SF_NONE, UNKNOWN, i};
    return !b->is_full;
}

/* For each link: goes up to a link whose depth is known, and down again. */
void sf_link_tree_close(struct sf_link_tree *t)
{
    uint32_t *chain = sf_profile_new(t->b, t->n + 1u, sizeof(*chain));
    for (uint32_t i = 0; chain && i < t->n; i++) {
        uint32_t at = i, len = 0;
        bool is_bad;
        while (at != SF_NONE && t->links[at].depth == UNKNOWN) {
            t->links[at].depth = ON_THE_WAY;
            chain[len++] = at;
            at = t->links[at].parent < t->n ? t->links[at].parent : SF_NONE;
        }
        is_bad = at != SF_NONE &&
                 (t->links[at].depth == ON_THE_WAY || t->links[at].depth == SF_NONE);
        t->n_bad += is_bad ? len : 0;
        while (len) {
            struct sf_link *l = &t->links[chain[--len]];
            const struct sf_link *up = at == SF_NONE ? NULL : &t->links[at];
            l->depth = is_bad ? SF_NONE : up ? up->depth + 1 : 0;
            l->top = !is_bad && up && l->depth > SF_PROFILE_ROOT_FRAMES ? up->top : chain[len];
            at = chain[len];
        }
    }
}

/* The middle of a deep stack is left out: the builder only needs to know that there are more frames
 * than fit. */
uint32_t sf_link_tree_stack(struct sf_link_tree *t, uint32_t place)
{
    uint32_t len = 0, at = place, top;
    if (place >= t->n || t->links[place].depth == SF_NONE)
        return SF_NONE;
    top = t->links[place].top;
    while (at != SF_NONE && at < t->n) {
        const struct sf_link *l = &t->links[at];
        if (l->location != SF_NONE)
            t->path[len++] = l->location;
        at = l->parent;
        if (len == t->b->max_frames && at != SF_NONE && at < t->n &&
            t->links[at].depth > SF_PROFILE_ROOT_FRAMES)
            at = top;
    }
    return sf_profile_build_stack(t->b, t->path, len);
}
