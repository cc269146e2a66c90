/* frame_spans.h - finds the spans that ran a function; without a function, the spans behind the
 * profiles of a service and a time. */
#pragma once
#include "model/answer/frame_spans.h"
#include "store/store.h"

struct sf_frame_spans_want {
    sf_str function;      /* full name, or a word of names if no function has it; or */
    sf_str pattern;       /* a regular expression for whole names; or neither */
    sf_str service, type; /* service: empty: any; type: as written by users, empty: CPU first */
    int64_t from_ns, to_ns;
    uint32_t limit;
};

/* The result is in q->req. INPUT: a bad pattern. NOT_FOUND: no profiles of this type. Uses only
 * samples that carry a span id. */
enum sf_err sf_frame_spans_find(struct sf_store *store, const struct sf_frame_spans_want *want,
                                struct sf_query_ctx *q, struct sf_frame_spans *out,
                                struct sf_why *why);
