/* span_pair.c - joins the spans of two sets into one list, sorted by trace. */
#include "join/span_pair.h"

bool sf_span_pair_make(const struct sf_span_set *left, const struct sf_span_set *right,
                       struct sf_arena *req, struct sf_span_pair *out)
{
    uint32_t i = 0, k = 0, n = 0;
    struct sf_set_span *spans = sf_arena_new_n(req, left->n + right->n + 1u, sizeof(*spans));
    bool *is_right = sf_arena_new_n(req, left->n + right->n + 1u, sizeof(*is_right));
    if (!spans || !is_right)
        return false;
    while (i < left->n || k < right->n) {
        is_right[n] = i == left->n || (k < right->n && sf_trace_id_cmp(right->spans[k].trace,
                                                                       left->spans[i].trace) < 0);
        spans[n] = is_right[n] ? right->spans[k++] : left->spans[i++];
        n++;
    }
    *out = (struct sf_span_pair){spans, is_right, n};
    return true;
}
