/* profile_names.h - symbolizes frames of an answer that have no names, with debug files. */
#pragma once
#include "flame/tree_names.h"
#include "store/local/engine.h"
#include "store/local/profiles/profile_read.h"

/* Adds names to `tree` where known, and counts in `q`. `nodes` (of `n_nodes` rows) are converted
 * from nodes of the old tree to nodes of the new one; may be NULL. */
enum sf_err sf_profile_names_give(struct sf_local *l, struct sf_query_ctx *q, struct sf_tree *tree,
                                  uint32_t *nodes, size_t n_nodes, struct sf_why *why);
/* The same with names that are in memory, in a separate arena: never blocks. */
enum sf_err sf_profile_names_known(struct sf_local *l, struct sf_query_ctx *q, struct sf_arena *to,
                                   struct sf_tree *tree, uint32_t *nodes, size_t n_nodes,
                                   struct sf_why *why);
/* A search for functions examines sources under locks, where it must not wait for symbolization. So
 * it is repeated once if names were missing that debug files at hand (not to be fetched) have:
 * `again` waits for them, for a limited time, and says whether to repeat. */
struct sf_names_search {
    struct sf_naming counted; /* counters before the search */
    uint64_t n_reading;
    bool has_waited;
};
struct sf_names_search sf_profile_names_search(const struct sf_query_ctx *q);
bool sf_profile_names_again(struct sf_local *l, const struct sf_query_ctx *q,
                            struct sf_names_search *search);
/* Which locations of a source have a requested name? Never blocks: the lock of profiles in memory
 * may be held. */
enum sf_err sf_profile_names_test(struct sf_profile_walk *w, const struct sf_profile_symbols *y,
                                  const struct sf_frame_test *test, bool *is_location,
                                  struct sf_why *why);
