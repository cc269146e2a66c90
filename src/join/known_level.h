/* known_level.h - what of an answer is known, and the smallest thing of which all of it is. */
#pragma once
#include "join/link_set.h"
#include "link/known_claims.h"
#include "model/answer/known.h"

/* `span`: the one it is about, or SF_NOBODY: then no service is named. False: q->req is full. */
bool sf_known_level_of(const struct sf_link_set *set, const struct sf_known_claims *known,
                       uint32_t span, struct sf_arena *req, struct sf_known_view *out);
/* Adds where more is known to a reason. False: `req` is full. */
bool sf_known_level_say(const struct sf_known_view *k, struct sf_arena *req, sf_str *reason);
