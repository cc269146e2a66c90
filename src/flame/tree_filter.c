#include "flame/tree_filter.h"

#include "flame/frame_name.h"
#include "flame/tree_map.h"
#include "regex/regex.h"

/* ---- matching frames ---- */

static enum sf_err match_all(const struct sf_tree *t, const struct sf_regex *re,
                             struct sf_arena *req, bool *found, struct sf_why *why)
{
    struct sf_regex_scratch *scratch = sf_regex_scratch_new();
    enum sf_err err = scratch ? SF_OK : sf_no_memory(why, "a pattern");
    for (uint32_t i = 0; !err && i < t->n_frames; i++) {
        struct sf_arena names = *req; /* names are needed only temporarily */
        size_t at, end;
        sf_str name;
        if (!sf_frame_name(&t->frames[i], SF_GROUP_FUNCTION, &names, &name)) {
            err = sf_fail(why, SF_ERR_LIMIT, "flame graph: no room for a name");
            break;
        }
        switch (sf_regex_find(re, name, 0, scratch, &at, &end)) {
        case SF_REGEX_NONE: break;
        case SF_REGEX_FOUND: found[i] = true; break;
        case SF_REGEX_GAVE_UP:
            err = sf_fail(why, SF_ERR_LIMIT, "the pattern takes too long on \"%.*s\"",
                          SF_STR_ARG(sf_str_part(name, 0, 80)));
            break;
        }
    }
    sf_regex_scratch_free(scratch);
    return err;
}

/* out[i]: whether frame i matches. In `req`. */
static enum sf_err tree_match(const struct sf_tree *t, sf_str pattern, struct sf_arena *req,
                              const bool **out, struct sf_why *why)
{
    struct sf_regex *re = NULL;
    bool *found = sf_arena_new_n(req, (size_t)t->n_frames + 1, sizeof(*found));
    enum sf_err err = found ? SF_OK : sf_fail(why, SF_ERR_LIMIT, "flame graph: no room to filter");
    if (!err)
        err = sf_regex_new(pattern, false, &re, why);
    if (!err)
        err = match_all(t, re, req, found, why);
    if (!err)
        *out = found;
    sf_regex_free(re);
    return err;
}

/* ---- selecting stacks ---- */

enum filter_kind { FOCUS, IGNORE, HIDE, FROM, FILTERS };

struct choice {     /* result for each node */
    bool has;       /* it or an ancestor matches */
    bool stays;     /* its value is kept */
    bool is_needed; /* it is kept, or an ancestor of one that is kept */
};

static void tree_filter_choose(const struct sf_tree *t, enum filter_kind kind, const bool *is_match,
                               struct choice *nodes)
{
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        struct choice *c = &nodes[i];
        c->has = i > 0 && (nodes[t->nodes[i].parent].has || is_match[t->nodes[i].frame]);
        c->stays = kind == HIDE || (kind == IGNORE ? !c->has : c->has);
        c->is_needed = c->stays;
    }
    for (uint32_t i = t->n_nodes; i-- > 1;)
        nodes[t->nodes[i].parent].is_needed |= nodes[i].is_needed;
}

static void tree_filter_map_nodes(struct sf_tree_map *m, enum filter_kind kind,
                                  const bool *is_match, const struct choice *nodes)
{
    const struct sf_tree *t = m->from;
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        const struct sf_tree_node *node = &t->nodes[i];
        uint32_t parent = m->nodes[node->parent];
        bool is_skipped = (kind == HIDE && is_match[node->frame]) ||
                          (kind == FROM && !nodes[i].has);
        if (!nodes[i].is_needed)
            m->nodes[i] = SF_NONE;
        else if (is_skipped)
            m->nodes[i] = parent;
        else
            m->nodes[i] = sf_tree_builder_child(
                &m->to, parent, sf_tree_builder_frame(&m->to, &t->frames[node->frame]));
    }
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        if (!nodes[i].stays)
            m->nodes[i] = SF_NONE;
    }
}

static enum sf_err tree_filter_apply(const struct sf_tree *t, enum filter_kind kind, sf_str pattern,
                                     struct sf_owned *owned, struct sf_arena *req,
                                     struct sf_tree *out, struct sf_why *why)
{
    struct sf_tree_map m = {0};
    struct sf_arena scratch = *req;
    const bool *is_match = NULL;
    struct choice *nodes = sf_arena_new_n(&scratch, t->n_nodes, sizeof(*nodes));
    enum sf_err err = nodes ? tree_match(t, pattern, &scratch, &is_match, why)
                            : sf_fail(why, SF_ERR_LIMIT, "flame graph: no room to filter");
    if (err)
        return err;
    tree_filter_choose(t, kind, is_match, nodes);
    err = sf_tree_map_init(&m, t, req, why);
    if (!err) {
        m.owned = owned;
        tree_filter_map_nodes(&m, kind, is_match, nodes);
        err = sf_tree_map_take(&m, out, why); /* overwrites the scratch */
    }
    sf_tree_map_done(&m);
    return err;
}

enum sf_err sf_tree_filter(const struct sf_tree *t, const struct sf_tree_filter *filter,
                           struct sf_owned *owned, struct sf_arena *req, struct sf_tree *out,
                           struct sf_why *why)
{
    const sf_str patterns[FILTERS] = {filter->focus, filter->ignore, filter->hide, filter->from};
    struct sf_tree now = *t;
    for (int kind = FOCUS; kind < FILTERS; kind++) {
        enum sf_err err;
        if (patterns[kind].len == 0)
            continue;
        err = tree_filter_apply(&now, (enum filter_kind)kind, patterns[kind], owned, req, &now,
                                why);
        if (err)
            return err;
    }
    *out = now;
    return SF_OK;
}
