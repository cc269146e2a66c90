/* coverage.h - answer: how well a service's traces and profiles are joined. */
#pragma once
#include "model/answer/grades.h"

struct sf_coverage_gap {
    int64_t from_ns, until_ns;
};

struct sf_coverage_type {
    sf_str type;
    uint64_t n_profiles, n_samples;
    double rate_hz;      /* at which it samples, as its period says; 0: it does not */
    uint64_t spacing_ns; /* usual time between two profiles; 0: unknown */
    const struct sf_coverage_gap *gaps; /* longer than three times the spacing */
    uint32_t n_gaps, n_more_gaps;       /* listed; left out */
    uint64_t gap_ns;                    /* all of them together */
};

struct sf_coverage_skew {
    sf_str caller; /* service */
    uint64_t n_calls;
    int64_t offset_ns; /* what this service's clock is ahead of the caller's; the median */
};

struct sf_coverage_missing {
    const char *kind, *sentence;
    sf_str lines[2]; /* empty: none */
};

struct sf_coverage_note { /* what a profiler reports otherwise than its type says */
    const char *kind, *sentence;
};

struct sf_coverage {
    sf_str service, language;
    sf_str span; /* of one span: its name; empty: the service */
    int64_t from_ns, until_ns;
    uint64_t n_spans; /* of the service in that time */
    const struct sf_coverage_type *types;
    uint32_t n_types, n_more_types; /* listed; left out */
    /* What follows is of one profile type and of some spans that were examined. */
    sf_str type;
    uint64_t n_checked, n_sampled;
    uint64_t n_thinned;           /* of those examined: their samples were removed by outcome */
    sf_str thinned;               /* in words; empty: none were */
    sf_str note;                  /* what was left out of `received`; empty: nothing */
    double expected;              /* samples that their own time allows one thread; 0: unknown */
    double received;              /* a record that represents several samples counts as those */
    double counts[SF_GRADE_ROWS]; /* the same by grade */
    double known, estimated;      /* and by whether it is known to be that span's */
    struct sf_grades grades;
    double tagged_share;     /* of the samples' value, with a span's id; -1: no samples */
    double symbolised_share; /* of the samples' value, with a name; -1: no samples */
    const struct sf_coverage_skew *skews;
    uint32_t n_skews;
    uint64_t n_more_skews; /* calls of further callers whose clocks contradict this one's */
    uint64_t n_calls;      /* from other services that were examined */
    const struct sf_coverage_missing *missing;
    uint32_t n_missing;
    const struct sf_coverage_note *notes;
    uint32_t n_notes;
};
