#include "store/local/profiles/profile_stacks.h"

#include "base/num.h"
#include "store/local/profiles/profile_names.h"
#include "store/local/profiles/profile_tree.h"

enum { MAX_TREE_LEN = 64 << 20 };

/* The source's stacks as a tree, whose frames have the names that answers show. */
static enum sf_err find_nodes(struct sf_profile_walk *w, const struct sf_profile_read_source *s,
                              const struct sf_stack_filter *filter, bool *is_node,
                              struct sf_why *why)
{
    struct sf_arena scratch = w->scratch;
    struct sf_tree_builder builder;
    struct sf_profile_tree places;
    struct sf_tree tree;
    bool *is_kept = NULL;
    enum sf_err err = SF_OK;
    sf_tree_builder_init(&builder, &scratch, MAX_TREE_LEN, SF_TREE_BORROWS);
    if (!sf_profile_tree_init(&places, &builder, &s->symbols, &scratch))
        err = sf_no_room(why, "a time series");
    for (uint32_t i = 1; !err && i < s->symbols.n_nodes; i++)
        (void)sf_profile_tree_node(&places, i);
    if (!err)
        err = sf_tree_builder_take(&builder, SF_STR_NONE, &tree, why);
    if (!err)
        err = sf_profile_names_known(w->l, w->q, &scratch, &tree, places.nodes, s->symbols.n_nodes,
                                     why);
    if (!err) {
        is_kept = sf_arena_new_n(&scratch, (size_t)tree.n_nodes + 1, sizeof(*is_kept));
        err = is_kept ? sf_stack_filter_nodes(filter, &tree, scratch, is_kept, why)
                      : sf_no_room(why, "a time series");
    }
    for (uint32_t i = 1; !err && i < s->symbols.n_nodes; i++)
        is_node[i] = is_kept[places.nodes[i]];
    sf_tree_builder_done(&builder);
    return err;
}

static enum sf_err sum_block(struct sf_profile_walk *w, struct sf_profile_read_source *s,
                             const bool *is_node, const uint32_t *groups, int64_t *sums,
                             struct sf_why *why)
{
    enum sf_err err = sf_profile_read_source_places(w, s, why);
    struct sf_profile_held held = {0};
    for (uint32_t i = 0; !err && i < s->places.n_chunks; i++) {
        const struct sf_profile_chunk *c = &s->places.chunks[i];
        bool is_alone = sf_profile_chunk_is_alone(&s->places, i);
        struct sf_arena tmp;
        const struct sf_profile_entry *e;
        size_t n = 0;
        if (groups[c->series] == SF_NONE || (c->is_rollup && !is_alone))
            continue;
        err = sf_profile_samples_hold(s->reader, c->section, &held, &w->scratch, why);
        tmp = w->scratch;
        if (!err)
            err = sf_profile_samples_chunk(s->reader, s->number, c, &held, &tmp, &e, &n, why);
        for (size_t k = 0; !err && k < n; k++) {
            uint32_t row = is_alone ? c->first_row : e[k].row;
            if (is_node[e[k].node])
                sums[row] = sf_add_sat_i64(sums[row], e[k].value);
        }
        if (!err)
            err = sf_profile_read_check(w, why);
    }
    return err;
}

enum sf_err sf_profile_stacks_sum(struct sf_profile_walk *w, struct sf_profile_read_source *s,
                                  const struct sf_stack_filter *filter, const uint32_t *groups,
                                  const int64_t **out_sums, struct sf_why *why)
{
    int64_t *sums = sf_arena_new_n(&w->scratch, (size_t)s->n_rows + 1, sizeof(*sums));
    enum sf_err err = sums ? SF_OK : sf_no_room(why, "a time series");
    bool has_any = false, *is_node;
    for (uint32_t i = 0; !has_any && i < s->n_series; i++)
        has_any = groups[i] != SF_NONE;
    *out_sums = sums;
    if (err || !has_any)
        return err;
    err = sf_profile_read_source_symbols(w, s, why);
    if (err)
        return err;
    is_node = sf_arena_new_n(&w->scratch, (size_t)s->symbols.n_nodes + 1, sizeof(*is_node));
    err = is_node ? find_nodes(w, s, filter, is_node, why) : sf_no_room(why, "a time series");
    if (err || s->reader)
        return err ? err : sum_block(w, s, is_node, groups, sums, why);
    for (uint32_t i = 0; i < s->set->n_entries; i++) {
        const struct sf_profile_entry *e = &s->set->entries[i];
        if (is_node[e->node] && groups[s->rows[e->row].series] != SF_NONE)
            sums[e->row] = sf_add_sat_i64(sums[e->row], e->value);
    }
    return SF_OK;
}
