/* span_pair.h - joins the spans of two sets into one list, sorted by trace. */
#pragma once
#include "join/span_set.h"

struct sf_span_pair {
    struct sf_set_span *spans;
    bool *is_right;
    uint32_t n;
};

/* Both sets are sorted by trace. In `req`; false: it is full. */
bool sf_span_pair_make(const struct sf_span_set *left, const struct sf_span_set *right,
                       struct sf_arena *req, struct sf_span_pair *out);
