/* recent_traces.h - remembers recent traces that users are likely to open, because a span failed or
 * was slow.
 *
 * Hashes in a table of fixed size; a newer one replaces an older one in the same slot. Losing
 * entries is harmless, because they only decide which samples lose their detail first under load.
 * Any thread, without a lock. */
#pragma once
#include "model/profile.h"
#include "model/span.h"

struct sf_recent_traces;

struct sf_recent_rule {
    int64_t slow_ns; /* 0: no span counts as slow */
    bool has_errors;
};

struct sf_recent_traces *sf_recent_traces_new(struct sf_recent_rule rule); /* NULL: no memory */
void sf_recent_traces_free(struct sf_recent_traces *r);                    /* NULL is fine */
void sf_recent_traces_note(struct sf_recent_traces *r, sf_str tenant,
                           const struct sf_span_batch *spans);
/* Whether the sample belongs to such a trace, by its trace id or, without one, by its span id. */
bool sf_recent_traces_has(struct sf_recent_traces *r, sf_str tenant, const struct sf_sample *s);
