/* explain_mean.h - the mean of the explanations of several spans: parts by name, functions by
 * name. */
#pragma once
#include "base/arena.h"
#include "join/runnable_sum.h"
#include "link/ledger.h"
#include "model/answer/explain.h"

enum { SF_MEAN_FUNCTIONS = 64 }; /* limit per part: eight spans have no more */

struct sf_explain_mean {
    struct sf_arena *req;
    struct {
        double ns, squares, samples;
        bool is_estimate;
        struct sf_runnable_sum runnable;
        struct sf_explain_function *functions; /* their values are sums */
        /* Functions kept; functions left out, of the span with most. */
        uint32_t n_functions, n_more;
    } parts[SF_PARTS];
    double n; /* number of explanations */
};

void sf_explain_mean_init(struct sf_explain_mean *m, struct sf_arena *req);
/* Adds one more; names are copied. False: `req` is full. */
bool sf_explain_mean_add(struct sf_explain_mean *m, const struct sf_explain_part *parts,
                         uint32_t n_parts);
/* The means over `n` requests, largest first, at most `most` functions per part, in `req`;
 * `*out_ns` is their sum. False: it is full. */
bool sf_explain_mean_give(const struct sf_explain_mean *m, double n, uint32_t most,
                          struct sf_explain_part **out, uint32_t *out_n, int64_t *out_ns);
