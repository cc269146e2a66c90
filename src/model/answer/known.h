/* known.h - answer: which part is certain, which is an estimate, and which larger span is
 * certain. */
#pragma once
#include "model/ids.h"

/* Prefix of every figure that is an estimate. */
#define SF_ESTIMATE_MARK "~"
/* The frame above all estimated stacks, in formats that have no field for remarks. */
#define SF_ESTIMATE_FRAME SF_ESTIMATE_MARK " estimate"
/* The remark in formats that have a field for it; readers recognise it by its beginning. */
#define SF_ESTIMATE_REMARK                                                                         \
    SF_ESTIMATE_FRAME ": other spans share some of these samples, and nobody knows which part is " \
                      "whose"

struct sf_known_view {
    uint64_t n_samples;   /* samples that certainly belong to what was requested */
    uint64_t n_estimated; /* samples that may belong to it: shared with other spans, in unknown
                           * parts */
    int64_t value;        /* of the certain ones */
    /* The smallest span, or the service, that certainly contains all of it; none when nothing is
     * estimated. */
    sf_span_id span;        /* including its children; 0: the service in this time */
    sf_str name, service;   /* name of that span; name of the service */
    int64_t from_ns, to_ns; /* time range of the service */
    sf_str command;         /* command that shows it; empty: none */
};
