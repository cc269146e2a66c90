/* exemplars.h - a few spans kept beside the numbers they were counted in.
 *
 * At most one of a trace; in each of n/2 pieces of the time at most two of a series, and not many
 * more of all, so that they are spread over the whole range however the spans come. What is above
 * n in the end is thinned evenly. */
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
    uint8_t *counts;                       /* of all series, by piece */
    uint8_t most;                          /* of those; 0: as many as a whole query keeps */
    uint32_t n_left;                       /* of all pieces together; 0: no such limit */
    bool is_full;                          /* n_left were kept */
    uint64_t piece, piece_from, piece_len; /* the last one examined: its starts */
    struct sf_arena *req;
};

/* After n_max and `touched` are set. Without room nothing is kept: n_max becomes 0. */
void sf_exemplars_init(struct sf_exemplars *x);
/* Would a span of that start be kept? It must lie in the window. */
bool sf_exemplars_has_room(struct sf_exemplars *x, const struct sf_table_series *s,
                           uint64_t start_ns);
/* Would any of spans that start within [min, max] be? Both in the window; `s` NULL: of whatever
 * series. */
bool sf_exemplars_may_keep(struct sf_exemplars *x, const struct sf_table_series *s, uint64_t min_ns,
                           uint64_t max_ns);
/* For the spans of one granule, of which a query with the exemplars `of` will choose: a piece is a
 * step of the window. False: no space in `req`. */
bool sf_exemplars_init_part(struct sf_exemplars *x, const struct sf_exemplars *of,
                            const struct sf_metrics_window *window, struct sf_arena *req);
/* Keeps a copy of one that was kept elsewhere, when there is space for it. */
void sf_exemplars_keep(struct sf_exemplars *x, struct sf_table_series *s,
                       const struct sf_metric_exemplar *e);
/* Keeps the span when there is space for it. `value` NaN: it will be that of its sample. */
bool sf_exemplars_add(struct sf_exemplars *x, struct sf_table_series *s,
                      const struct sf_trace_view *v, uint32_t span, double value);
