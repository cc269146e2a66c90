/* explain.h - answer: an explanation of a duration. */
#pragma once
#include "base/str.h"
#include "model/ids.h"

enum {
    SF_EXPLAIN_PARTS = 11,    /* at most this many parts; SF_PARTS of link/ledger.h */
    SF_EXPLAIN_FUNCTIONS = 8, /* listed per part */
    SF_EXPLAIN_CHILDREN = 5   /* listed per part */
};

struct sf_explain_function { /* a function of the service itself, if a stack has one */
    sf_str function;
    sf_str caller;  /* empty: none */
    sf_str library; /* library in which it spent most of its time: "SQLite"; empty: in itself */
    sf_str path;    /* outermost first */
    sf_str file;    /* with the most expensive line; empty: unknown */
    uint32_t line;
    double ns, low_ns, high_ns; /* per request; low and high: NAN if unknown */
    double library_ns;
    bool is_significant; /* for a difference */
};

struct sf_explain_span;

struct sf_explain_part {
    const char *name;   /* "on_cpu" */
    const char *words;  /* "running" */
    const char *source; /* "samples"; for a difference "" */
    const char *ledger; /* name of the part in a span's time breakdown */
    int64_t ns;
    double low_ns, high_ns; /* NAN: not known */
    bool is_estimate;
    bool is_significant; /* for a difference */
    double few;          /* number of samples if too few for times; 0: enough */
    double before_ns, after_ns;
    const struct sf_explain_function *functions; /* largest first */
    uint32_t n_functions, n_more_functions;
    const struct sf_explain_span *children; /* the child spans in it; largest first */
    uint32_t n_children, n_more_children;
    sf_str reason;   /* why time is unknown; for locks, the holder, if known */
    double runnable; /* waiting for a CPU: mean number of runnable threads of the host in that time;
                      * 0: unknown */
};

struct sf_explain_span { /* a child span in a part; of several equal ones the longest */
    sf_trace_id trace;
    sf_span_id span;
    sf_str service, name;
    int64_t ns;           /* of the part, sum of all `count` spans */
    uint64_t duration_ns; /* of this span */
    uint32_t count;
    int64_t most_ns; /* of the part, of the one with most of it; 0: unknown */
    /* Of a difference: number of such spans per request; both 0: not what differs. */
    double before_per, after_per;
    /* Of this span with all below it; they add up to duration_ns. Of a set, estimates for all; they
     * add up to ns. */
    const struct sf_explain_part *parts;
    uint32_t n_parts;
};

enum sf_explain_of {
    SF_EXPLAIN_SPAN,
    SF_EXPLAIN_TRACE,
    SF_EXPLAIN_SET,       /* mean per span */
    SF_EXPLAIN_DIFFERENCE /* between two sets, per span */
};

struct sf_explain_example { /* an example span */
    sf_trace_id trace;
    sf_span_id span;
    sf_str service, name;
    uint64_t duration_ns;
    int64_t part_ns; /* duration of the part in question */
};

struct sf_explain_focus {       /* the subject of the query: a function with its callees, or
                                 * spans */
    sf_str name;                /* empty: nothing */
    double ns, low_ns, high_ns; /* part of the duration; low and high: NAN if unknown */
    uint32_t count;             /* number of spans with that name; 0: a function, or of a set */
    bool is_estimate;
};

struct sf_explain_mix { /* of a difference: the two sets consist of other spans */
    sf_str name;        /* the name whose share differs most; empty: they do not */
    double ns;          /* of the difference, for that reason */
    double before_share, after_share;
};

struct sf_explain_view {
    enum sf_explain_of of;
    sf_trace_id trace;
    sf_span_id span;
    sf_str service, name;
    int64_t duration_ns;    /* of a set: the mean; of a difference: right minus left */
    double low_ns, high_ns; /* interval of a mean or a difference; NAN: unknown */
    bool is_significant;
    bool is_few; /* of a difference: too few spans for a conclusion */
    double before_ns, after_ns;
    uint64_t n_spans, n_left;      /* of a set; of a difference: right and left */
    sf_str left, right;            /* descriptions of what is compared */
    struct sf_explain_part *parts; /* they add up to duration_ns; largest first */
    uint32_t n_parts;
    struct sf_explain_focus focus;
    struct sf_explain_mix mix;
    struct sf_explain_example examples[3];
    uint32_t n_examples;
    sf_str query, note, reason;
    sf_str split; /* of a difference: "p95"; or: */
    sf_str before_version, after_version;
    int64_t from_ns, to_ns; /* of a set or a difference */
    uint64_t n_samples;
    bool is_partial;
};
