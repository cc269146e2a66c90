/* profile_types.c - lists the profile types of some series. */
#include "exec/profile_types.h"

enum sf_err sf_profile_types(const struct sf_prof_list *list, struct sf_arena *req,
                             const struct sf_batch_type **out, uint32_t *out_n, struct sf_why *why)
{
    struct sf_batch_type *types = sf_arena_new_n(req, (size_t)list->n + 1, sizeof(*types));
    uint32_t n = 0;
    if (!types)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t at = 0;
        while (at < n && !sf_batch_tree_type_eq(&types[at].type, &list->series[i].type))
            at++;
        if (at == n)
            types[n++] = (struct sf_batch_type){.type = list->series[i].type,
                                                .period = list->series[i].period};
    }
    *out = types;
    *out_n = n;
    return SF_OK;
}

bool sf_profile_types_is_level(const struct sf_profile_type *type)
{
    static const char *const levels[] = {"inuse_space", "inuse_objects", "live",
                                         "goroutine",   "goroutines",    "threads"};
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (sf_str_eq(type->sample_type, sf_str_from(levels[i])))
            return true;
    }
    return false;
}
