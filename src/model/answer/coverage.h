/* coverage.h - answer: how well a service's traces and profiles are joined. */
#pragma once
#include "model/answer/grades.h"

struct sf_coverage_gap {
    int64_t from_ns, until_ns;
};

struct sf_coverage_type {
    sf_str type;
    uint64_t n_profiles, n_samples;
    double rate_hz;      /* sampling rate according to its period; 0: it does not sample */
    uint64_t spacing_ns; /* usual time between two profiles; 0: unknown */
    const struct sf_coverage_gap *gaps; /* pauses of more than three times the spacing */
    uint32_t n_gaps, n_more_gaps;       /* listed; left out */
    uint64_t gap_ns;                    /* total of all gaps */
};

struct sf_coverage_skew {
    sf_str caller; /* service */
    uint64_t n_calls;
    int64_t offset_ns; /* how far this service's clock is ahead of the caller's; the median */
};

struct sf_coverage_missing {
    const char *kind, *sentence;
    sf_str lines[2]; /* empty: none */
};

struct sf_coverage_note { /* a difference between what a profiler reports and what its type
                           * promises */
    const char *kind, *sentence;
};

struct sf_coverage {
    sf_str service, language;
    sf_str span; /* of one span: its name; empty: the service */
    int64_t from_ns, until_ns;
    uint64_t n_spans; /* of the service in that time */
    const struct sf_coverage_type *types;
    uint32_t n_types, n_more_types; /* listed; left out */
    /* The fields below are for one profile type and the spans that were examined. */
    sf_str type;
    uint64_t n_checked, n_sampled;
    uint64_t n_thinned;           /* of the examined spans: samples removed by retention */
    sf_str thinned;               /* as text; empty: none */
    sf_str note;                  /* what was left out of `received`; empty: nothing */
    double expected;              /* samples expected for one thread, from the spans' own times; 0:
                                   * unknown */
    double received;              /* samples received; a record of several samples counts as that
                                   * many */
    double counts[SF_GRADE_ROWS]; /* the same by match quality */
    double known, estimated;      /* and by whether it certainly belongs to the span */
    struct sf_grades grades;
    double tagged_share;     /* share of the samples' value that carries a span id; -1: no
                              * samples */
    double symbolised_share; /* share of the samples' value that has function names; -1: no
                              * samples */
    const struct sf_coverage_skew *skews;
    uint32_t n_skews;
    uint64_t n_more_skews; /* calls from further callers whose clocks contradict this one's */
    uint64_t n_calls;      /* examined calls from other services */
    const struct sf_coverage_missing *missing;
    uint32_t n_missing;
    const struct sf_coverage_note *notes;
    uint32_t n_notes;
};
