/* claims_view.h - what spans claimed, as a tree and by grade. */
#pragma once
#include "join/link_set.h"
#include "model/answer/grades.h"

/* One tree of all claims, with their samples' stacks. In `req`. `out_nodes` (or NULL): the place in
 * it of each node of set->stacks that a claim needs. */
enum sf_err sf_claims_view_tree(const struct sf_link_set *set, const struct sf_attribution *a,
                                struct sf_arena *req, struct sf_tree *out,
                                const uint32_t **out_nodes, struct sf_why *why);
/* The row a claim of that grade is counted in, of a span that was requested itself. */
enum sf_grade_row sf_claims_view_row(enum sf_grade grade);
/* By grade. Exact claims of spans that were not queried for themselves (they are below one that
 * was) are "subtree". A sample that several spans share counts once. */
void sf_claims_view_grades(const struct sf_attribution *a, const bool *is_asked,
                           struct sf_grades *out);
/* How many samples the profiler took (sample_count.h). */
double sf_claims_view_samples(const struct sf_link_set *set, int64_t value, uint64_t n_samples);
/* How many samples know as much, where some that say when they were taken represent several: those
 * that came too late are no observations. Of those samples: the sum of values, and of squares. */
double sf_claims_view_worth(const struct sf_link_set *set, double taken, double timed,
                            double timed_squares);
/* Too few samples of a profiler of time to say more than how many there were. What was measured
 * (allocations, waits) is never that. */
bool sf_claims_view_is_few(const struct sf_link_set *set, double taken);
/* On how many threads the claims' samples were taken: those that they name. When none names one,
 * the fewest whose time in the span they can be, unless few were `taken`; a thread has at most a
 * sample more than fit into it. 0: no memory. */
uint32_t sf_claims_view_threads(const struct sf_link_set *set, const struct sf_attribution *a,
                                double taken, uint64_t duration_ns, bool *out_are_named,
                                struct sf_arena *req);
