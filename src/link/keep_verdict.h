/* keep_verdict.h - does a trace keep its samples? The rules by which detail rows are kept
 * (profiling.conditional), on the facts of one trace. */
#pragma once
#include "link/span_tree.h"
#include "model/keep_rules.h"

struct sf_keep_facts { /* of the spans of a trace */
    const struct sf_span_tree *tree;
    const struct sf_keep_rule *const *rules; /* of each span: that of its service */
    const uint64_t *usual_ns; /* of local roots: the operation's 99th percentile; 0: not known */
    const int64_t *cpu_ns;    /* of each span: the CPU time of its samples */
    const bool *is_flagged;
};

/* One bit for each reason that holds; 0: its samples go. `root_ns` (one for each span) is scratch.
 * The baseline is the largest share of the rules of its spans, so that it is one for the whole
 * trace: `out_baseline` gets it. */
unsigned sf_keep_verdict(const struct sf_keep_facts *f, int64_t *root_ns, uint32_t *out_baseline);
