/* querier_ask.h - the requests of querier.v1.QuerierService, from protobuf or JSON. */
#pragma once
#include "query/label_selector.h"
#include "serve/call.h"

enum sf_querier_method {
    SF_QUERIER_TYPES,
    SF_QUERIER_LABEL_NAMES,
    SF_QUERIER_LABEL_VALUES,
    SF_QUERIER_SERIES,
    SF_QUERIER_STACKTRACES,
    SF_QUERIER_SPANS,
    SF_QUERIER_POINTS,
    SF_QUERIER_STATS,
    SF_QUERIER_METHODS
};

enum { SF_QUERIER_LIST = 256 };

struct sf_querier_ask {
    sf_str type, name;
    struct sf_label_selector selector;
    sf_str keys[SF_QUERIER_LIST]; /* label_names, group_by */
    sf_span_id spans[SF_QUERIER_LIST];
    size_t n_keys, n_spans;
    int64_t start_ms, end_ms, max_nodes, limit;
    double step_s;
    bool is_average;
};

/* INPUT, LIMIT. In `req`. */
enum sf_err sf_querier_ask_read(enum sf_querier_method method, sf_str body, bool is_json,
                                struct sf_arena *req, struct sf_querier_ask *out,
                                struct sf_why *why);
