/* span_moments.h - the samples of a span one by one, in the order they were taken. */
#pragma once
#include "join/link_set.h"
#include "model/answer/span_profile.h"

/* Uses claims whose samples have a time of their own; `nodes` maps the set's stacks to the
 * profile's tree. In `req`. */
enum sf_err sf_span_moments_make(const struct sf_link_set *set, const struct sf_attribution *a,
                                 const uint32_t *nodes, struct sf_arena *req,
                                 struct sf_span_profile *out, struct sf_why *why);
