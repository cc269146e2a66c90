/* ledger_costs.h - what one span adds to the mean time breakdown of a set of spans.
 *
 * A sample represents a whole period, also in a span that is shorter than one. The breakdown of one
 * span cuts it to the span, and a mean over many such spans would be too small: of spans of 5 ms on
 * the CPU, sampled every 10 ms, half have a sample, and each counts 5 of its 10 ms. So for a mean
 * the rest is added again, and taken from the unknown time. Of one span that may be negative; the
 * mean is right, and the parts still add up to the duration. Only what is unknown of all spans
 * together makes space for it: samples that come to more than that contradict the spans (other
 * threads that they do not name), and stay cut.
 *
 * What of a part falls to which code: samples by their leaf function, waits for children by child.
 * Where these come to more than the part (something of higher precedence lay on them) they are cut
 * in proportion; where they come to less the rest of the part has no name. */
#pragma once
#include "link/ledger.h"

struct sf_ledger_cost {
    uint32_t part; /* enum sf_ledger_part */
    uint32_t item; /* a function, or a child's name: as the caller numbers them */
    double ns;
};

struct sf_ledger_costs_input {
    const struct sf_span_tree *spans;
    uint32_t span;
    const struct sf_ledger *ledger; /* made of these samples */
    const struct sf_ledger_sample *samples;
    const uint32_t *items; /* of each sample; SF_NOBODY: without a stack */
    uint32_t n_samples;
    const uint32_t *child_items; /* of each span of the tree; SF_NOBODY: without a name */
};

struct sf_ledger_parts {  /* of a span */
    double ns[SF_PARTS];  /* sum: its duration */
    double cut[SF_PARTS]; /* of samples of the part, had no space in the span */
};

void sf_ledger_costs_parts(const struct sf_ledger *l, struct sf_ledger_parts *out);
/* Which share of what was cut has space in all of them: unknown and cut time of all spans. */
double sf_ledger_costs_room(double unknown_ns, double cut_ns);
/* Adds that share again. */
void sf_ledger_costs_fit(struct sf_ledger_parts *p, double room);
/* What items of a part are to be multiplied with then; before sf_ledger_costs_fit(). */
double sf_ledger_costs_scale(const struct sf_ledger_parts *p, uint32_t part, double room);
/* As if all had room. A part and item may be there several times. `out` has space for n_samples and
 * the span's children; returns how many there are. */
uint32_t sf_ledger_costs_items(const struct sf_ledger_costs_input *in, struct sf_ledger_cost *out);
