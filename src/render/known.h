/* known.h - what of an answer is known, and what is an estimate. */
#pragma once
#include "model/answer/known.h"
#include "model/answer/profile_view.h"
#include "wire/json_write.h"

/* An amount of a profile: "~" before an estimate, "2 samples" where they are too few for times. */
void sf_known_amount(struct sf_buf *out, const struct sf_profile_view *v, int64_t value);
/* "few samples: 3, too few for times and shares". */
void sf_known_few(struct sf_buf *out, const struct sf_profile_view *v);
/* Under that frame when it is an estimate, else as it is. */
enum sf_err sf_known_tree(const struct sf_profile_view *v, struct sf_arena *req,
                          struct sf_tree *out, struct sf_why *why);

/* "isEstimate" and "known", into an open object. */
void sf_known_json(const struct sf_known_view *k, struct sf_json_writer *w);
