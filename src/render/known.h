/* known.h - which part of an answer is certain, and which is an estimate. */
#pragma once
#include "model/answer/known.h"
#include "model/answer/profile_view.h"
#include "wire/json_write.h"

/* An amount of a profile: with "~" for an estimate, "2 samples" if too few for times. */
void sf_known_amount(struct sf_buf *out, const struct sf_profile_view *v, int64_t value);
/* "few samples: 3, too few for times and shares". */
void sf_known_few(struct sf_buf *out, const struct sf_profile_view *v);
/* Puts an estimate below the frame SF_ESTIMATE_FRAME; otherwise the tree is unchanged. */
enum sf_err sf_known_tree(const struct sf_profile_view *v, struct sf_arena *req,
                          struct sf_tree *out, struct sf_why *why);

/* "isEstimate" and "known", into an open object. */
void sf_known_json(const struct sf_known_view *k, struct sf_json_writer *w);
