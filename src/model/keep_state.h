/* keep_state.h - whether the samples of a trace were kept when retention by outcome was applied to
 * its hour. */
#pragma once
#include "model/keep_rules.h"

/* Outcome for the samples of a trace. */
enum sf_keep_fate {
    SF_FATE_WHOLE,  /* all are there: the hour was not processed, or all of it was kept */
    SF_FATE_KEPT,   /* the trace was kept */
    SF_FATE_THINNED /* they were removed */
};

struct sf_keep_state {
    enum sf_keep_fate fate;
    uint16_t reasons;            /* why it was kept: bits of enum sf_keep_reason */
    uint16_t baseline_per_10000; /* if processed: the share kept of traces without a reason */
    uint32_t version;            /* version of the rule set; 0: not processed */
    int64_t hour;                /* the hour that was processed */
    bool has_tags;               /* samples of the service carried span ids in that hour */
};

/* The probability that it was kept: 1 if kept for its outcome or in an hour that was not processed.
 * Its weight in a sum is 1 / probability. */
static inline double sf_keep_chance(const struct sf_keep_state *s)
{
    return s->fate == SF_FATE_WHOLE || s->reasons & SF_KEEP_BY_OUTCOME
               ? 1
               : s->baseline_per_10000 / 10000.0;
}
