/* merge_plan.h - which rows of the inputs of a merge go to which block, in which order; see
 * merge.c.
 *
 * The first pass of a merge adds pieces; then the plan is made, and the second pass writes its
 * outputs. */
#pragma once
#include "block/span/span_block_reader.h"
#include "store/local/write/merge.h"

struct sf_merge_piece { /* the rows of one trace in one granule that fall into one window */
    uint64_t hash;
    int64_t first_ns; /* first start of the piece, then of the trace */
    int32_t window;
    uint32_t tenant;
    uint32_t granule;
    uint16_t input, row, n, n_visible;
    bool is_whole; /* stands for all traces of the granule, which is copied */
};

struct sf_merge_granule { /* of an input */
    bool can_carry;
    int32_t window;
    uint32_t n_alone; /* number of traces that are in no other granule */
    size_t piece_plus_1;
};

struct sf_merge_plan_output {
    size_t first, n; /* pieces */
    size_t n_whole;  /* number of whole granules, which are the last pieces */
    uint64_t n_rows;
    int32_t window;
    uint32_t tenant; /* 0: several */
};

struct sf_merge_plan {
    enum sf_merge_split split;
    uint64_t block_rows;                         /* rows of an output, about */
    const struct sf_span_block_reader **readers; /* by input; borrowed */
    struct sf_merge_granule **granules;          /* by input; borrowed */
    struct sf_merge_piece *pieces;
    size_t n_pieces, pieces_cap;
    struct sf_merge_plan_output *outputs;
    size_t n_outputs, outputs_cap;
};

/* Reserves memory for the estimated pieces of one more input: pieces are the largest data held. */
enum sf_err sf_merge_plan_reserve(struct sf_merge_plan *plan, uint64_t n, struct sf_why *why);
enum sf_err sf_merge_plan_add(struct sf_merge_plan *plan, const struct sf_merge_piece *p,
                              struct sf_why *why);
/* Call once, after the last piece. LIMIT: too many blocks; NOMEM. */
enum sf_err sf_merge_plan_make(struct sf_merge_plan *plan, struct sf_why *why);
void sf_merge_plan_done(struct sf_merge_plan *plan);

bool sf_merge_plan_same_trace(const struct sf_merge_piece *x, const struct sf_merge_piece *y);
/* The order of pieces in an output; for qsort. */
int sf_merge_plan_by_first(const void *a, const void *b);
