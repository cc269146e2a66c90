/* profile_types.h - which profile types some series have. */
#pragma once
#include "flame/batch_tree.h"
#include "store/store.h"

/* The types of series, each once, as sf_batch_tree_choose() takes them. */
enum sf_err sf_profile_types(const struct sf_prof_list *list, struct sf_arena *req,
                             const struct sf_batch_type **out, uint32_t *out_n, struct sf_why *why);
/* Is each profile of it a level (memory in use, goroutines), so that a sum over time says nothing?
 */
bool sf_profile_types_is_level(const struct sf_profile_type *type);
