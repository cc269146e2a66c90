/* explain_part.h - parts of an answer to "why slow?": names, bounds, and sums that are right. Pure.
 */
#pragma once
#include "link/hot_code.h"
#include "link/ledger.h"
#include "model/answer/explain.h"

/* An empty part with its names. */
struct sf_explain_part sf_explain_part_named(enum sf_ledger_part part);
/* Its 95 % interval: `sure_ns` of it were measured; `sampled_ns` come from `worth` samples that
 * could have been whole_ns long. */
void sf_explain_part_bound(struct sf_explain_part *p, double sure_ns, double sampled_ns,
                           double worth, double whole_ns);
/* A function of a part of part_ns, of which `worth` samples tell (0: all was measured). */
struct sf_explain_function sf_explain_part_function_of(const struct sf_hot_piece *piece,
                                                       double part_ns, double worth);
/* Orders parts by size, largest first (of differences by their amount), makes them come to
 * whole_ns to the last nanosecond, and bounds what is unknown by the bounds of the others. */
void sf_explain_parts_fit(struct sf_explain_part *parts, uint32_t n, int64_t whole_ns);
