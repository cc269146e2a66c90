/* known.h - answer: what of it is known, what is an estimate, and where more is known. */
#pragma once
#include "model/ids.h"

/* Stands before every figure that is an estimate. */
#define SF_ESTIMATE_MARK "~"
/* The frame all stacks of an estimate stand under in forms that have no place for a remark. */
#define SF_ESTIMATE_FRAME SF_ESTIMATE_MARK " estimate"
/* What forms with a place for a remark say; readers know it by its beginning. */
#define SF_ESTIMATE_REMARK                                                                         \
    SF_ESTIMATE_FRAME ": other spans share some of these samples, and nobody knows which part is " \
                      "whose"

struct sf_known_view {
    uint64_t n_samples;   /* known to belong to what was requested */
    uint64_t n_estimated; /* that may belong to it: shared with other spans, in unknown parts */
    int64_t value;        /* of the known ones */
    /* The smallest thing that is known to have all of it; none when nothing is estimated. */
    sf_span_id span;        /* with its children; 0: the service in this time */
    sf_str name, service;   /* of that span; of the service */
    int64_t from_ns, to_ns; /* of the service */
    sf_str command;         /* that shows it; empty: none */
};
