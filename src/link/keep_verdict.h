/* keep_verdict.h - would a trace keep its samples? The rules by which detail rows are to be kept
 * (profiling.conditional), on the facts of one trace. Nothing is thinned by them yet: they are
 * asked by GET /api/v1/keep, which says what each would keep. */
#pragma once
#include "link/span_tree.h"
#include "model/retention.h"

enum sf_keep_reason {
    SF_KEEP_ERROR,    /* a span failed */
    SF_KEEP_SLOW,     /* a local root took slow_ns or longer */
    SF_KEEP_UNUSUAL,  /* longer than is usual for its operation, and tail_min_ns */
    SF_KEEP_CPU,      /* a local root's samples are more than cpu_percent of its time */
    SF_KEEP_FLAGGED,  /* a span says profile.keep = true */
    SF_KEEP_BASELINE, /* by a hash of the trace's id, the same wherever it is asked */
    SF_KEEP_REASONS
};

struct sf_keep_facts { /* of the spans of a trace */
    const struct sf_span_tree *tree;
    const uint64_t *usual_ns; /* of local roots: the operation's 99th percentile; 0: not known */
    const int64_t *cpu_ns;    /* of each span: the CPU time of its samples */
    const bool *is_flagged;
};

/* One bit for each reason that holds; 0: its samples would go. `root_ns` (one for each span) is
 * scratch. */
unsigned sf_keep_verdict(const struct sf_keep_rule *rule, const struct sf_keep_facts *f,
                         int64_t *root_ns);
