/* profile_series.h - converts a block's series to the form of answers. */
#pragma once
#include "block/profile/profile_block.h"
#include "store/store.h"

/* By service, type and labels. */
int sf_profile_series_cmp(const struct sf_series *x, const struct sf_series *y);
/* False: `req` is full. */
bool sf_profile_series_copy(struct sf_arena *req, sf_str service,
                            const struct sf_profile_series *from, struct sf_series *to);
