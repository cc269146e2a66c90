/* profile_types.h - lists the profile types of some series. */
#pragma once
#include "flame/batch_tree.h"
#include "store/store.h"

/* The distinct types of series, as input of sf_batch_tree_choose(). */
enum sf_err sf_profile_types(const struct sf_prof_list *list, struct sf_arena *req,
                             const struct sf_batch_type **out, uint32_t *out_n, struct sf_why *why);
/* Does each profile show a current level (memory in use, goroutines), so that a sum over time is
 * meaningless? */
bool sf_profile_types_is_level(const struct sf_profile_type *type);
