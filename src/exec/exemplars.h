/* exemplars.h - keeps a few example spans for the numbers they were counted in.
 *
 * At most one per trace; in each of n/2 pieces of the time at most two per series, and a limited
 * number over all series, so that they are spread over the whole range whatever the order of spans.
 * If there are more than n at the end, an even selection is kept. */
#pragma once
#include "exec/metrics_table.h"
#include "exec/metrics_window.h"
#include "exec/touched.h"
#include "exec/trace_view.h"

struct sf_exemplars {
    const struct sf_metrics_window *window;
    uint32_t n_max; /* 0: none are kept */
    struct sf_touched touched;
    sf_str *keys; /* names of the attributes that the query uses */
    uint32_t n_pieces;
    uint8_t *counts;                       /* number over all series, by piece */
    uint8_t most;                          /* limit of `counts`; 0: that of a whole query */
    uint32_t n_left;                       /* remaining number over all pieces; 0: no such limit */
    bool is_full;                          /* n_left is used up */
    uint64_t piece, piece_from, piece_len; /* the last piece used: number and time range */
    struct sf_arena *req;
};

/* Call after n_max and `touched` are set. If memory is short, nothing is kept: n_max becomes 0. */
void sf_exemplars_init(struct sf_exemplars *x);
/* Would a span with that start be kept? It must be in the window. */
bool sf_exemplars_has_room(struct sf_exemplars *x, const struct sf_table_series *s,
                           uint64_t start_ns);
/* When that was just answered with no: no span that starts from *out_from on, within *out_len,
 * would be kept either. */
static inline void sf_exemplars_full_piece(const struct sf_exemplars *x, uint64_t *out_from,
                                           uint64_t *out_len)
{
    *out_from = (uint64_t)x->window->from_ns + x->piece_from;
    *out_len = x->piece_len;
}
/* Would any span that starts within [min, max] be kept? Both are in the window; `s` NULL: of any
 * series. */
bool sf_exemplars_may_keep(struct sf_exemplars *x, const struct sf_table_series *s, uint64_t min_ns,
                           uint64_t max_ns);
/* For the spans of one granule, from which a query with the exemplars `of` will choose: a piece is
 * a step of the window. False: no space in `req`. */
bool sf_exemplars_init_part(struct sf_exemplars *x, const struct sf_exemplars *of,
                            const struct sf_metrics_window *window, struct sf_arena *req);
/* Keeps a copy of one that was kept elsewhere, if it fits. */
void sf_exemplars_keep(struct sf_exemplars *x, struct sf_table_series *s,
                       const struct sf_metric_exemplar *e);
/* Keeps the span if it fits. `value` NaN: set later from its sample. */
bool sf_exemplars_add(struct sf_exemplars *x, struct sf_table_series *s,
                      const struct sf_trace_view *v, uint32_t span, double value);
