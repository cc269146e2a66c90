/* frame_spans.h - from a function to the spans that ran it; without one, from a service and a time
 * to the spans behind what its profiles show there. */
#pragma once
#include "model/answer/frame_spans.h"
#include "store/store.h"

struct sf_frame_spans_want {
    sf_str function;      /* by its full name or, if there is none, as a word of one; or */
    sf_str pattern;       /* a regular expression that matches whole names; or neither */
    sf_str service, type; /* empty: any; as people write it, empty: CPU first */
    int64_t from_ns, to_ns;
    uint32_t limit;
};

/* Lives in q->req. INPUT: a bad pattern. NOT_FOUND: no profiles of this type. Only samples that
 * carry a span's id can tell. */
enum sf_err sf_frame_spans_find(struct sf_store *store, const struct sf_frame_spans_want *want,
                                struct sf_query_ctx *q, struct sf_frame_spans *out,
                                struct sf_why *why);
