/* keep_state.h - what became of the samples of a trace when its hour was judged. */
#pragma once
#include "model/keep_rules.h"

/* What became of the samples of a trace. */
enum sf_keep_fate {
    SF_FATE_WHOLE,  /* all are there: the hour was not judged, or kept whole */
    SF_FATE_KEPT,   /* the trace was kept */
    SF_FATE_THINNED /* they were removed */
};

struct sf_keep_state {
    enum sf_keep_fate fate;
    uint16_t reasons;            /* of a kept one: bits of enum sf_keep_reason */
    uint16_t baseline_per_10000; /* of a judged one: the share kept of those without a reason */
    uint32_t version;            /* of the rule set; 0: not judged */
    int64_t hour;                /* that was judged */
    bool has_tags;               /* samples of the service named spans in that hour */
};

/* The chance it had to be kept: 1 for its outcome or in an hour that was not judged. What it
 * represents in a sum is 1 / chance. */
static inline double sf_keep_chance(const struct sf_keep_state *s)
{
    return s->fate == SF_FATE_WHOLE || s->reasons & SF_KEEP_BY_OUTCOME
               ? 1
               : s->baseline_per_10000 / 10000.0;
}
