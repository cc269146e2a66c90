/* explain_below.h - explains the child spans of a set of spans.
 *
 * A few of the spans, evenly chosen, are explained one by one with all their descendants: child
 * spans by name and service, each with the mean of its parts along the critical path. */
#pragma once
#include "join/span_set.h"
#include "model/answer/explain.h"

struct sf_explain_below_want {
    const struct sf_set_span *spans;
    uint32_t n;
    bool is_all;  /* also compute the parts themselves: samples carry no ids, so each span is
                     examined separately */
    sf_str focus; /* a function to look for that is not in the spans' own time; empty: none */
    struct sf_arena *scratch; /* reset */
};

/* Adds children to the parts of `io`, or computes its parts. In q->req. */
enum sf_err sf_explain_below(struct sf_store *store, const struct sf_explain_below_want *want,
                             struct sf_query_ctx *q, struct sf_explain_view *io,
                             struct sf_why *why);
