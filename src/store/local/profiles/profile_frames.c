#include "store/local/profiles/profile_frames.h"

#include "store/local/profiles/profile_names.h"

static bool test_location(const struct sf_profile_symbols *y, const struct sf_profile_location *l,
                          const bool *is_function)
{
    for (uint32_t i = 0; i < l->n_lines; i++)
        if (is_function[y->lines[l->first_line + i].function])
            return true;
    return false;
}

/* Parents are stored before their children: one pass is enough. */
enum sf_err sf_profile_frames_find(struct sf_profile_walk *w, struct sf_profile_read_source *s,
                                   const struct sf_frame_test *test, const bool **out_is_node,
                                   struct sf_why *why)
{
    enum sf_err err = sf_profile_read_source_symbols(w, s, why);
    if (err)
        return err;
    const struct sf_profile_symbols *y = &s->symbols;
    bool *is_function = sf_arena_new_n(&w->scratch, y->n_functions + 1u, sizeof(*is_function));
    bool *is_location = sf_arena_new_n(&w->scratch, y->n_locations + 1u, sizeof(*is_location));
    bool *is_node = sf_arena_new_n(&w->scratch, y->n_nodes + 1u, sizeof(*is_node));
    if (!is_function || !is_location || !is_node)
        return sf_fail(why, SF_ERR_LIMIT, "query: a service's stacks do not fit its memory");
    for (uint32_t i = 0; i < y->n_functions; i++) {
        const struct sf_profile_function *f = &y->functions[i];
        sf_str name = y->strings[f->name].len ? y->strings[f->name] : y->strings[f->system_name];
        is_function[i] = test->is_asked(test->arg, name);
    }
    for (uint32_t i = 0; i < y->n_locations; i++)
        is_location[i] = test_location(y, &y->locations[i], is_function);
    err = sf_profile_names_test(w, y, test, is_location, why);
    if (err)
        return err;
    for (uint32_t i = 1; i < y->n_nodes; i++)
        is_node[i] = is_node[y->nodes[i].parent] || is_location[y->nodes[i].location];
    *out_is_node = is_node;
    return memchr(is_node, 1, y->n_nodes) ? SF_OK : SF_ERR_NOT_FOUND;
}
