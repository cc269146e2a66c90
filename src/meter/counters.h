/* counters.h - the server's own counters.
 *
 * Relaxed atomics: any thread increments, the scrape reads. One registry per server. Counts of
 * other modules (store, listener, queues) are not copied here; the scrape reads them there. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "meter/exposition.h"

enum sf_count {
    SF_COUNT_SPANS_RECEIVED, /* in decodable requests */
    SF_COUNT_SPANS_ACKED,    /* durable and acknowledged */
    SF_COUNT_PROFILES_RECEIVED,
    SF_COUNT_SAMPLES_RECEIVED,
    SF_COUNT_SAMPLES_ACKED,
    SF_COUNT_SAMPLES_DROPPED, /* of accepted profiles: they refer to missing data */
    SF_COUNT_SERIES_FOLDED,   /* label sets over the limit that became "other" */
    /* requests refused, by reason */
    SF_COUNT_REJECT_NOT_READY,
    SF_COUNT_REJECT_QUEUE_FULL,
    SF_COUNT_REJECT_PRESSURE,
    SF_COUNT_REJECT_DISK,
    SF_COUNT_REJECT_MALFORMED,
    SF_COUNT_REJECT_TOO_LARGE,
    SF_COUNT_REJECT_CONTENT_TYPE,
    SF_COUNT_REJECT_ENCODING,
    SF_COUNT_REJECT_UNAUTHENTICATED,
    SF_COUNT_REJECT_DENIED,
    SF_COUNT_REJECT_TENANT,
    SF_COUNT_REJECT_NO_ROUTE,
    SF_COUNT_REJECT_METHOD,
    SF_COUNT_REJECT_LIMIT, /* of a tenant or a service */
    SF_COUNT_REJECT_INTERNAL,
    /* spans left out of accepted requests, by reason */
    SF_COUNT_DISCARD_TRACE_ID,
    SF_COUNT_DISCARD_SPAN_ID,
    SF_COUNT_DISCARD_RATE,
    SF_COUNT_DISCARD_OTHER,
    /* parts truncated to their limits, by kind */
    SF_COUNT_CUT_ATTRS,
    SF_COUNT_CUT_VALUES,
    SF_COUNT_CUT_KEYS,
    SF_COUNT_CUT_NAMES,
    SF_COUNT_CUT_EVENTS,
    SF_COUNT_CUT_LINKS,
    SF_COUNT_CUT_STACKS,
    SF_COUNT_CUT_LABELS,
    SF_COUNT_CUT_TIMES, /* times of profiles and samples in the future */
    SF_COUNT_REDACTIONS,
    /* requests with signals that this server does not store */
    SF_COUNT_OTHER_METRICS,
    SF_COUNT_OTHER_LOGS,
    /* unknown fields and parameters of queries, by API */
    SF_COUNT_UNKNOWN_PYROSCOPE,
    SF_COUNT_UNKNOWN_TEMPO,
    SF_COUNT_LISTEN_FAULTS, /* requests that never reached a route */
    SF_COUNTS
};

enum { SF_COUNTERS_ROUTES = 192, SF_COUNTERS_TENANTS = 512 };

struct sf_counters;

struct sf_counters *sf_counters_new(void); /* NULL: no memory */
void sf_counters_free(struct sf_counters *c);
void sf_counters_add(struct sf_counters *c, enum sf_count what, uint64_t n);
uint64_t sf_counters_get(const struct sf_counters *c, enum sf_count what);
/* One answered request. `route` is an index below SF_COUNTERS_ROUTES, `label` its name (constant
 * text). */
void sf_counters_request(struct sf_counters *c, unsigned route, const char *label, int status,
                         uint64_t ns);

/* The limit of a tenant or a service that refused a request. */
enum sf_tenant_limit {
    SF_TENANT_LIMIT_SPANS,
    SF_TENANT_LIMIT_BYTES,
    SF_TENANT_LIMIT_SERIES,
    SF_TENANT_LIMIT_QUERIES,
    SF_TENANT_LIMITS
};

/* Kinds of data refused under load, in this order. */
enum sf_shed {
    SF_SHED_BASELINE_DETAIL,
    SF_SHED_DETAIL,
    SF_SHED_PROFILES,
    SF_SHED_SPANS,
    SF_SHEDS,
    SF_SHED_DETAILS = SF_SHED_PROFILES /* the kinds before are also counted in samples */
};

/* Per tenant, under the names that Tempo's dashboards use. Tenants beyond SF_COUNTERS_TENANTS share
 * one line, "(other tenants)". */
struct sf_tenant_counts {
    uint64_t n_spans, body_len;                      /* received */
    uint64_t n_bad_trace_id, n_bad_span_id, n_other; /* discarded */
    uint64_t n_rate_limited;                         /* spans left out because a service was over
                                                      * its rate */
    uint64_t n_refused;                              /* spans of requests answered with an error */
    uint64_t n_limited[SF_TENANT_LIMITS];            /* requests refused or shortened by a limit */
    uint64_t n_shed[SF_SHEDS];                       /* requests refused or shortened under load */
    uint64_t n_shed_samples[SF_SHED_DETAILS];        /* samples that lost their detail */
};
void sf_counters_tenant(struct sf_counters *c, sf_str tenant, const struct sf_tenant_counts *add);

void sf_counters_render(struct sf_counters *c, struct sf_exposition *e);
