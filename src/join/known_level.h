/* known_level.h - determines how much of an answer is certain, and the smallest unit for which all
 * of it is: a span with its children, or a service in that time. */
#pragma once
#include "join/link_set.h"
#include "link/known_claims.h"
#include "model/answer/known.h"

/* `span`: the requested one, or SF_NOBODY: then no service is named. False: q->req is full. */
bool sf_known_level_of(const struct sf_link_set *set, const struct sf_known_claims *known,
                       uint32_t span, struct sf_arena *req, struct sf_known_view *out);
/* Adds to a reason where more is certain. False: `req` is full. */
bool sf_known_level_say(const struct sf_known_view *k, struct sf_arena *req, sf_str *reason);
