/* profile_frames.h - which stacks of a source hold a frame that is searched for. */
#pragma once
#include "store/local/profiles/profile_read.h"

/* By node, in the walk's scratch: is the node or one of its callers a matching frame? Each function
 * name and each node is tested once. NOT_FOUND: no stack of the source matches. */
enum sf_err sf_profile_frames_find(struct sf_profile_walk *w, struct sf_profile_read_source *s,
                                   const struct sf_frame_test *test, const bool **out_is_node,
                                   struct sf_why *why);
