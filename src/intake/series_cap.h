/* series_cap.h - how many label sets a service may have.
 *
 * Labels are the sender's: one that holds a request's id would make every profile a series of its
 * own. A service may bring `max` distinct sets in an hour. Beyond that, values that were not seen
 * before become "other"; when the set is new even so, all its values do. Nothing vanishes: the
 * samples stay, and the caller counts what was folded. Any thread. */
#pragma once
#include "base/arena.h"
#include "model/profile.h"

struct sf_series_cap;

struct sf_series_cap *sf_series_cap_new(uint32_t max); /* 0: SF_LIMIT_SERIES; NULL: no memory */
void sf_series_cap_free(struct sf_series_cap *c);      /* NULL is fine */

/* Admits the label set of `s`, or gives it folded labels in `req`. False: `req` is full. */
bool sf_series_cap_admit(struct sf_series_cap *c, uint32_t tenant, struct sf_series *s,
                         int64_t now_ns, struct sf_arena *req, bool *out_is_folded);
