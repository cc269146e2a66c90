/* recent_traces.h - recent traces that are likely to be opened: one of their spans failed or was
 * slow.
 *
 * Hashes in a table of a fixed size, each in one place, the newest wins: forgetting is fine,
 * because all that depends on it is which samples lose their detail first under load. Any thread,
 * without a lock. */
#pragma once
#include "model/profile.h"
#include "model/span.h"

struct sf_recent_traces;

struct sf_recent_rule {
    int64_t slow_ns; /* 0: no span is slow */
    bool has_errors;
};

struct sf_recent_traces *sf_recent_traces_new(struct sf_recent_rule rule); /* NULL: no memory */
void sf_recent_traces_free(struct sf_recent_traces *r);                    /* NULL is fine */
void sf_recent_traces_note(struct sf_recent_traces *r, sf_str tenant,
                           const struct sf_span_batch *spans);
/* Is the sample of such a trace? By its trace's id, or, where it has none, by its span's. */
bool sf_recent_traces_has(struct sf_recent_traces *r, sf_str tenant, const struct sf_sample *s);
