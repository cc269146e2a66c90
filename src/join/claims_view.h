/* claims_view.h - shows the claims of spans as a tree and by match quality. */
#pragma once
#include "join/link_set.h"
#include "model/answer/grades.h"

/* One tree of all claims, with their samples' stacks. In `req`. `out_nodes` (or NULL): for each
 * node of set->stacks that a claim needs, its node in the tree. */
enum sf_err sf_claims_view_tree(const struct sf_link_set *set, const struct sf_attribution *a,
                                struct sf_arena *req, struct sf_tree *out,
                                const uint32_t **out_nodes, struct sf_why *why);
/* The row in which a claim of that grade is counted, for a span that was requested itself. */
enum sf_grade_row sf_claims_view_row(enum sf_grade grade);
/* Counts by grade. Exact claims of spans that were not requested themselves (descendants of one
 * that was) count as "subtree". A sample that several spans share counts once. */
void sf_claims_view_grades(const struct sf_attribution *a, const bool *is_asked,
                           struct sf_grades *out);
/* How many samples the profiler took (sample_count.h). */
double sf_claims_view_samples(const struct sf_link_set *set, int64_t value, uint64_t n_samples);
/* The effective number of samples, if some samples with times represent several: samples that came
 * late are not independent observations. `timed` is the sum of their values, `timed_squares` that
 * of the squares. */
double sf_claims_view_worth(const struct sf_link_set *set, double taken, double timed,
                            double timed_squares);
/* Are there too few samples, of a profiler that samples time, to report more than their number?
 * Never true for measured values (allocations, waits). */
bool sf_claims_view_is_few(const struct sf_link_set *set, double taken);
/* The number of threads on which the claims' samples were taken: those that they name. If none is
 * named, the smallest number that can have spent this time in the span, unless few samples were
 * `taken`; a thread has at most one sample more than fit into the span. 0: no memory. */
uint32_t sf_claims_view_threads(const struct sf_link_set *set, const struct sf_attribution *a,
                                double taken, uint64_t duration_ns, bool *out_are_named,
                                struct sf_arena *req);
