/* services.h - answer: services and operations with their numbers. */
#pragma once
#include "base/str.h"

struct sf_span_stats {
    uint64_t n, n_errors, mean_ns, p50_ns, p95_ns, p99_ns;
};

struct sf_call_stats {
    sf_str name; /* of the service or the operation */
    struct sf_span_stats spans;
    struct sf_span_stats requests; /* entry spans of the service */
};

struct sf_service_stats {
    struct sf_call_stats sum;
    const struct sf_call_stats *operations;
    uint32_t n_operations;
};

struct sf_services {
    int64_t from_ns, until_ns;
    bool is_exact;
    const struct sf_service_stats *list; /* sorted by name */
    uint32_t n;
};
