/* keep_plan.h - answer: how much sample detail each retention rule would keep. */
#pragma once
#include "base/str.h"
#include "model/keep_rules.h"

enum { SF_KEEP_ROWS = 6 };

struct sf_keep_count {
    uint64_t n_traces, n_samples;
};

struct sf_keep_plan {
    int64_t from_ns, until_ns;
    struct sf_keep_rule rule;
    struct sf_keep_count all, kept;
    struct sf_keep_count by[SF_KEEP_ROWS];    /* by rule; a trace may count for several */
    struct sf_keep_count alone[SF_KEEP_ROWS]; /* kept by this rule only */
    uint64_t n_spans;                         /* spans of all traces */
    sf_str reason;                            /* what is missing, and why; empty: nothing */
};

#define SF_KEEP_BYTES_PER_SAMPLE \
    7 /* about, with its part of the indexes: docs/format-profile-block.md */
