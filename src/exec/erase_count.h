/* erase_count.h - how much an erasure takes away, before it does. */
#pragma once
#include "store/store.h"

struct sf_erase_count {
    uint64_t n_spans, n_profiles, n_samples;
    bool is_exact; /* false: the edges of the range were rounded, or copies count too */
};

/* Of the first of q's tenants only, as an erasure is. Samples of traces are those that carry a
 * span; their profiles stay. LIMIT, DEADLINE and whatever reading gives. */
enum sf_err sf_erase_count(struct sf_store *store, const struct sf_selector *which,
                           struct sf_query_ctx *q, struct sf_erase_count *out, struct sf_why *why);
