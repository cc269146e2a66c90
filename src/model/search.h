/* search.h - the result of a TraceQL search, in a form that can be written in any format. */
#pragma once
#include "model/ids.h"
#include "model/value.h"

struct sf_found_span {
    sf_span_id id;
    sf_str name; /* empty unless the query mentions it */
    uint64_t start_ns, duration_ns;
    struct sf_attrs attrs; /* attributes mentioned in the query, keys without scope */
};

struct sf_found_set {
    const struct sf_found_span *spans; /* at most spss of them */
    uint32_t n_spans;
    uint32_t n_matched;    /* before that cut */
    struct sf_attrs attrs; /* by(...), count(), ... */
};

struct sf_found_service {
    sf_str name;
    uint32_t n_spans, n_errors;
};

struct sf_found_trace {
    sf_trace_id id;
    sf_str root_service, root_name; /* empty: no root was received */
    bool has_root;
    uint64_t start_ns, duration_ns;
    const struct sf_found_set *sets;
    uint32_t n_sets;
    const struct sf_found_service *services; /* sorted by name */
    uint32_t n_services;
};

struct sf_search_result {
    const struct sf_found_trace *traces; /* newest first */
    uint32_t n_traces;
    bool is_running; /* still searching: more results may follow */
    bool is_partial; /* a limit was hit: `note` says which */
    sf_str note;
    uint64_t n_inspected_traces, n_inspected_spans, read_len, n_blocks;
};
