/* explain_part.h - parts of an answer to "why slow?": names, intervals, and exact sums. Pure
 * functions. */
#pragma once
#include "link/hot_code.h"
#include "link/ledger.h"
#include "model/answer/explain.h"

/* An empty part with its names. */
struct sf_explain_part sf_explain_part_named(enum sf_ledger_part part);
/* Sets its 95 % interval: `sure_ns` of it were measured; `sampled_ns` come from effectively
 * `worth` samples, taken over whole_ns. */
void sf_explain_part_bound(struct sf_explain_part *p, double sure_ns, double sampled_ns,
                           double worth, double whole_ns);
/* A function of a part of part_ns, from `worth` samples (0: it was measured). */
struct sf_explain_function sf_explain_part_function_of(const struct sf_hot_piece *piece,
                                                       double part_ns, double worth);
/* Sorts parts by size, largest first (differences by their amount), and adjusts them to sum up to
 * whole_ns exactly. */
void sf_explain_parts_fit(struct sf_explain_part *parts, uint32_t n, int64_t whole_ns);
/* Of one span, whose duration is exact: derives the interval of unknown time from those of the
 * other parts. (Unknown time of several spans varies between them and has an interval of its own.)
 */
void sf_explain_parts_bound_unknown(struct sf_explain_part *parts, uint32_t n, int64_t whole_ns);
