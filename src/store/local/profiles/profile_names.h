/* profile_names.h - names from debug files for the frames of an answer that came without any. */
#pragma once
#include "flame/tree_names.h"
#include "store/local/engine.h"
#include "store/local/profiles/profile_read.h"

/* Names what can be named in `tree`, and counts into `q`. `nodes`, of `n_nodes` rows, are places in
 * the tree and become those in the new one; may be NULL. */
enum sf_err sf_profile_names_give(struct sf_local *l, struct sf_query_ctx *q, struct sf_tree *tree,
                                  uint32_t *nodes, size_t n_nodes, struct sf_why *why);
/* The same from what is in memory, in an arena of one's own: waits for nothing. */
enum sf_err sf_profile_names_known(struct sf_local *l, struct sf_query_ctx *q, struct sf_arena *to,
                                   struct sf_tree *tree, uint32_t *nodes, size_t n_nodes,
                                   struct sf_why *why);
/* A search for functions examines sources under locks, where it cannot wait for names. So it is
 * done again, once, when names were missing that files here have: `again` waits for them, a bounded
 * time, and says whether. */
struct sf_names_search {
    struct sf_naming counted; /* before it */
    uint64_t n_reading;
    bool has_waited;
};
struct sf_names_search sf_profile_names_search(const struct sf_query_ctx *q);
bool sf_profile_names_again(struct sf_local *l, const struct sf_query_ctx *q,
                            struct sf_names_search *search);
/* Which locations of a source have a name that is requested. Waits for nothing: the lock of
 * profiles in memory may be held. */
enum sf_err sf_profile_names_test(struct sf_profile_walk *w, const struct sf_profile_symbols *y,
                                  const struct sf_frame_test *test, bool *is_location,
                                  struct sf_why *why);
