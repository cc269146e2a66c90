/* querier_ask.h - the requests of querier.v1.QuerierService, from protobuf or JSON. */
#pragma once
#include "flame/stack_filter.h"
#include "query/label_selector.h"
#include "serve/call.h"

enum sf_querier_method {
    SF_QUERIER_TYPES,
    SF_QUERIER_LABEL_NAMES,
    SF_QUERIER_LABEL_VALUES,
    SF_QUERIER_SERIES,
    SF_QUERIER_STACKTRACES,
    SF_QUERIER_SPANS,
    SF_QUERIER_PROFILE,
    SF_QUERIER_POINTS,
    SF_QUERIER_HEATMAP,
    SF_QUERIER_DIFF,
    SF_QUERIER_STATS,
    SF_QUERIER_ANALYZE,
    SF_QUERIER_METHODS
};

enum { SF_QUERIER_LIST = 256 };

/* The values are the protocol's numbers. */
enum sf_querier_format {
    SF_QUERIER_ANY,
    SF_QUERIER_FLAMEGRAPH,
    SF_QUERIER_TREE,
    SF_QUERIER_DOT,
    SF_QUERIER_PPROF,
    /* Their numbers differ between servers, so these are accepted by name only. */
    SF_QUERIER_FUNCTIONS = -1,
    SF_QUERIER_CALLS = -2, /* PROFILE_FORMAT_FUNCTION_TREE */
    SF_QUERIER_SANDWICH = -3
};
enum sf_querier_calls_of {
    SF_QUERIER_CALLS_UNSET,
    SF_QUERIER_CALLS_FROM_ROOT, /* call_site is a path from the root */
    SF_QUERIER_CALLS_OF_CHAIN   /* call_site is anywhere on the stack */
};
enum sf_querier_calls_to {
    SF_QUERIER_CALLS_NOWHERE,
    SF_QUERIER_CALLS_DOWN,
    SF_QUERIER_CALLS_UP,
    SF_QUERIER_CALLS_BOTH_WAYS
};
enum { SF_QUERIER_CALLS_DEPTH = 128 };
enum sf_querier_exemplars {
    SF_QUERIER_EXEMPLARS_DEFAULT,
    SF_QUERIER_EXEMPLARS_NONE,
    SF_QUERIER_EXEMPLARS_PROFILES,
    SF_QUERIER_EXEMPLARS_SPANS
};
enum sf_querier_dots { SF_QUERIER_DOTS_DEFAULT, SF_QUERIER_DOTS_PROFILES, SF_QUERIER_DOTS_SPANS };

struct sf_querier_ask {
    sf_str type, name, query;
    sf_str function; /* for a sandwich view */
    struct sf_label_selector selector;
    sf_str keys[SF_QUERIER_LIST]; /* label_names, group_by */
    sf_str sites[SF_QUERIER_LIST];
    sf_span_id spans[SF_QUERIER_LIST];
    sf_trace_id traces[SF_QUERIER_LIST];
    sf_profile_id profiles[SF_QUERIER_LIST];
    size_t n_keys, n_sites, n_spans, n_traces, n_profiles;
    int64_t start_ms, end_ms, max_nodes, limit;
    int64_t format, exemplars, dots, aggregation;
    int64_t keep_leaves; /* go_pgo; 0: not requested */
    bool has_pgo, is_flat;
    struct sf_stack_term frames[SF_STACK_TERMS]; /* frame_filter */
    size_t n_frames;
    uint64_t n_unknown; /* fields that are in no known version of the protocol */
    bool is_async;      /* requests an id with which to fetch the answer later */
    sf_str request_id;  /* fetches the answer with that id */
    double step_s;
    bool has_options;                /* options of the format */
    int64_t max_rows;                /* of a table of functions; 0: all */
    int64_t calls_of, calls_to;      /* of a tree of functions: selection and direction */
    int64_t calls_depth;             /* levels below the first node; 0: the maximum */
    struct sf_querier_ask *sides[2]; /* of a comparison: its two queries; NULL: not given */
};

/* INPUT, LIMIT; UNSUPPORTED: the request uses a field or value that is not supported here. Lists
 * are in `req`. */
enum sf_err sf_querier_ask_read(enum sf_querier_method method, sf_str body, bool is_json,
                                struct sf_arena *req, struct sf_querier_ask *out,
                                struct sf_why *why);
