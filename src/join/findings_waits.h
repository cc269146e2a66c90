/* findings_waits.h - finds what the requests of a service wait for: locks, disks, answers.
 *
 * Computed from the time breakdowns of its spans (join/set_breakdown.h), per request. Waits for
 * services that send spans themselves are left out. */
#pragma once
#include "join/findings_requests.h"

struct sf_code_place { /* most of a function's time on the CPU is in child spans of one name */
    sf_str function, span;
};

struct sf_waits_findings {
    struct sf_finding_list list; /* values: nanoseconds per request */
    const struct sf_request_span *ids;
    const struct sf_code_place *places;
    uint32_t n_places;
    double n_requests; /* number of requests in the whole time range */
    double request_ns; /* mean duration of the examined requests */
    uint8_t left_out;  /* bits of enum sf_left_out */
    bool is_too_large; /* nothing was examined: the data exceeds a query's memory */
};

/* In q->req; `want` as for sf_findings_requests. */
enum sf_err sf_findings_waits(struct sf_store *store, const struct sf_requests_want *want,
                              struct sf_query_ctx *q, struct sf_waits_findings *out,
                              struct sf_why *why);
