/* ledger_costs.h - what one span adds to the mean time breakdown of a set of spans.
 *
 * A sample represents a whole sampling period, even in a span that is shorter. The breakdown of one
 * span cuts it to the span, and a mean over many such spans would be too small: of spans of 5 ms on
 * the CPU, sampled every 10 ms, half have a sample, and each counts 5 of its 10 ms. So for a mean
 * the removed time is added again, and subtracted from the unknown time. For one span that may be
 * negative; the mean is right, and the parts still sum up to the duration. The time added is
 * limited to the unknown time of all spans together: samples beyond that contradict the spans
 * (threads that they do not name), and stay cut.
 *
 * The time of a part is assigned to code: samples by their leaf function, waits for children by
 * child. If these sum up to more than the part (something of higher precedence overlapped them)
 * they are reduced in proportion; if they sum up to less, the rest of the part has no name. */
#pragma once
#include "link/ledger.h"

struct sf_ledger_cost {
    uint32_t part; /* enum sf_ledger_part */
    uint32_t item; /* a function or a child's name: a number assigned by the caller */
    double ns;
};

struct sf_ledger_costs_input {
    const struct sf_span_tree *spans;
    uint32_t span;
    const struct sf_ledger *ledger; /* computed from these samples */
    const struct sf_ledger_sample *samples;
    const uint32_t *items; /* of each sample; SF_NOBODY: without a stack */
    uint32_t n_samples;
    const uint32_t *child_items; /* by span of the tree; SF_NOBODY: without a name */
};

struct sf_ledger_parts {  /* of a span */
    double ns[SF_PARTS];  /* sum: its duration */
    double cut[SF_PARTS]; /* time of samples of the part that exceeded the span */
};

void sf_ledger_costs_parts(const struct sf_ledger *l, struct sf_ledger_parts *out);
/* The share of the cut time that fits: from unknown and cut time of all spans. */
double sf_ledger_costs_room(double unknown_ns, double cut_ns);
/* Adds that share of the cut time again. */
void sf_ledger_costs_fit(struct sf_ledger_parts *p, double room);
/* The factor for the items of a part; call before sf_ledger_costs_fit(). */
double sf_ledger_costs_scale(const struct sf_ledger_parts *p, uint32_t part, double room);
/* Computes items as if all cut time fitted. A part and item may occur several times. `out` has
 * space for n_samples and the span's children; returns their number. */
uint32_t sf_ledger_costs_items(const struct sf_ledger_costs_input *in, struct sf_ledger_cost *out);
