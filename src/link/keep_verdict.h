/* keep_verdict.h - decides whether a trace keeps its samples: applies the retention rules for
 * detail rows (profiling.conditional) to one trace. */
#pragma once
#include "link/span_tree.h"
#include "model/keep_rules.h"

struct sf_keep_facts { /* of the spans of a trace */
    const struct sf_span_tree *tree;
    const struct sf_keep_rule *const *rules; /* by span: the rule of its service */
    const uint64_t *usual_ns; /* for local roots: the operation's 99th percentile; 0: unknown */
    const int64_t *cpu_ns;    /* by span: the CPU time of its samples */
    const bool *is_flagged;
};

/* Returns one bit for each reason to keep it; 0: its samples are deleted. `root_ns` (one per span)
 * is scratch. The baseline share is the largest of its spans' rules, so that it applies to the
 * whole trace: `out_baseline` gets it. */
unsigned sf_keep_verdict(const struct sf_keep_facts *f, int64_t *root_ns, uint32_t *out_baseline);
