/* erase_count.h - counts what an erasure would delete. */
#pragma once
#include "store/store.h"

struct sf_erase_count {
    uint64_t n_spans, n_profiles, n_samples;
    bool is_exact; /* false: the edges of the range were rounded, or duplicates were counted */
};

/* For the first of q's tenants only, like an erasure. With traces, samples that carry a span are
 * counted; their profiles are not erased. LIMIT, DEADLINE and errors of reading. */
enum sf_err sf_erase_count(struct sf_store *store, const struct sf_selector *which,
                           struct sf_query_ctx *q, struct sf_erase_count *out, struct sf_why *why);
