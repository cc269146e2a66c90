#include "store/local/profiles/profile_names.h"

#include <stdlib.h>

#include "os/clock.h"

struct unnamed_place { /* an address without a name, and where it is used in the answer */
    struct sf_unnamed u;
    uint32_t owner;
};

static int profile_names_by_file(const void *a, const void *b)
{
    const struct unnamed_place *x = a, *y = b;
    int order = sf_str_cmp(x->u.build_id, y->u.build_id);
    if (order)
        return order;
    return x->u.file_off < y->u.file_off ? -1 : x->u.file_off > y->u.file_off;
}

/* Sorted by file, as the symbolizer requires. NULL: no memory. */
static struct sf_named *profile_names_ask(struct sf_local *l, struct sf_query_ctx *q,
                                          struct unnamed_place *list, uint32_t n,
                                          int64_t deadline_ns, struct sf_arena *to)
{
    struct sf_unnamed *asked = sf_arena_new_n(to, n + 1u, sizeof(*asked));
    struct sf_named *named = sf_arena_new_n(to, n + 1u, sizeof(*named));
    struct sf_naming uncounted = {0};
    if (!asked || !named)
        return NULL;
    qsort(list, n, sizeof(*list), profile_names_by_file);
    for (uint32_t i = 0; i < n; i++)
        asked[i] = list[i].u;
    l->config.namer->find(l->config.namer, q->tenants, q->n_tenants, asked, n, deadline_ns, to,
                          named, q->naming ? q->naming : &uncounted);
    return named;
}

bool sf_profile_names_again(struct sf_local *l, const struct sf_query_ctx *q,
                            struct sf_names_search *search)
{
    int64_t now_ns = sf_clock_mono_ns(), until_ns = q->deadline_ns;
    uint64_t n_reading;
    if (!l->config.namer || !q->naming || search->has_waited)
        return false;
    n_reading = q->naming->n_pending - q->naming->n_fetching;
    if (n_reading <= search->n_reading)
        return false;
    /* Keep half of the remaining time for the second search. */
    if (until_ns)
        until_ns = now_ns + (until_ns > now_ns ? (until_ns - now_ns) / 2 : 0);
    l->config.namer->settle(l->config.namer, until_ns ? until_ns : INT64_MAX);
    search->has_waited = true;
    *q->naming = search->counted;
    return true;
}

struct sf_names_search sf_profile_names_search(const struct sf_query_ctx *q)
{
    struct sf_names_search s = {0};
    if (q->naming) {
        s.counted = *q->naming;
        s.n_reading = q->naming->n_pending - q->naming->n_fetching;
    }
    return s;
}

/* ---- of a tree ---- */

static uint32_t list_frames(const struct sf_tree *t, struct unnamed_place *list)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_frames; i++) {
        const struct sf_frame *f = &t->frames[i];
        if (sf_frame_is_unnamed(f))
            list[n++] = (struct unnamed_place){{f->build_id, f->file_off}, i};
    }
    return n;
}

static uint32_t n_unnamed(const struct sf_tree *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_frames; i++)
        n += sf_frame_is_unnamed(&t->frames[i]);
    return n;
}

static enum sf_err name_tree(struct sf_local *l, struct sf_query_ctx *q, int64_t deadline_ns,
                             struct sf_arena *to, struct sf_tree *tree, uint32_t *nodes,
                             size_t n_nodes, struct sf_why *why)
{
    uint32_t n = l->config.namer ? n_unnamed(tree) : 0, *moved = NULL;
    struct unnamed_place *list;
    struct sf_named *found, *by_frame;
    bool has_any = false;
    enum sf_err err;
    if (!n)
        return SF_OK;
    list = sf_arena_new_n(to, n, sizeof(*list));
    by_frame = sf_arena_new_n(to, tree->n_frames, sizeof(*by_frame));
    if (!list || !by_frame)
        return sf_no_room(why, "the answer");
    (void)list_frames(tree, list);
    found = profile_names_ask(l, q, list, n, deadline_ns, to);
    if (!found)
        return sf_no_room(why, "the answer");
    for (uint32_t i = 0; i < n; i++) {
        by_frame[list[i].owner] = found[i];
        has_any |= found[i].n_lines || found[i].start_off;
    }
    if (!has_any)
        return SF_OK;
    if (n_nodes) {
        moved = sf_arena_new_n(to, tree->n_nodes, sizeof(*moved));
        if (!moved)
            return sf_no_room(why, "the answer");
    }
    err = sf_tree_names_give(tree, by_frame, to, tree, moved, why);
    for (size_t i = 0; i < n_nodes && !err; i++)
        nodes[i] = moved[nodes[i]];
    return err;
}

enum sf_err sf_profile_names_give(struct sf_local *l, struct sf_query_ctx *q, struct sf_tree *tree,
                                  uint32_t *nodes, size_t n_nodes, struct sf_why *why)
{
    return name_tree(l, q, q->deadline_ns ? q->deadline_ns : INT64_MAX, q->req, tree, nodes,
                     n_nodes, why);
}

enum sf_err sf_profile_names_known(struct sf_local *l, struct sf_query_ctx *q, struct sf_arena *to,
                                   struct sf_tree *tree, uint32_t *nodes, size_t n_nodes,
                                   struct sf_why *why)
{
    return name_tree(l, q, 0, to, tree, nodes, n_nodes, why);
}

/* ---- of a source ---- */

static bool is_unnamed(const struct sf_profile_symbols *y, uint32_t location)
{
    const struct sf_profile_location *l = &y->locations[location];
    return l->n_lines == 0 && l->addr && l->module != SF_NONE &&
           y->strings[y->modules[l->module].build_id].len > 0;
}

enum sf_err sf_profile_names_test(struct sf_profile_walk *w, const struct sf_profile_symbols *y,
                                  const struct sf_frame_test *test, bool *is_location,
                                  struct sf_why *why)
{
    uint32_t n = 0;
    struct unnamed_place *list;
    struct sf_named *found;
    for (uint32_t i = 0; w->l->config.namer && i < y->n_locations; i++)
        n += is_unnamed(y, i);
    if (!n)
        return SF_OK;
    list = sf_arena_new_n(&w->scratch, n, sizeof(*list));
    if (!list)
        return sf_no_room(why, "the answer");
    n = 0;
    for (uint32_t i = 0; i < y->n_locations; i++) {
        const struct sf_profile_location *l = &y->locations[i];
        if (is_unnamed(y, i))
            list[n++] = (struct unnamed_place){
                {y->strings[y->modules[l->module].build_id], l->addr}, i};
    }
    found = profile_names_ask(w->l, w->q, list, n, 0, &w->scratch);
    if (!found)
        return sf_no_room(why, "the answer");
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < found[i].n_lines && !is_location[list[i].owner]; k++)
            is_location[list[i].owner] = test->is_asked(test->arg, found[i].lines[k].function);
    }
    return SF_OK;
}
