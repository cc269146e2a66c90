/* counters.h - what the server counts of itself.
 *
 * Relaxed atomics: any thread bumps, the scrape reads. One registry per server. What others count
 * (store, listener, queues) is not copied here; the scrape asks them. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "meter/exposition.h"

enum sf_count {
    SF_COUNT_SPANS_RECEIVED, /* in requests that could be decoded */
    SF_COUNT_SPANS_ACKED,    /* durable and answered */
    SF_COUNT_PROFILES_RECEIVED,
    SF_COUNT_SAMPLES_RECEIVED,
    SF_COUNT_SAMPLES_ACKED,
    SF_COUNT_SAMPLES_DROPPED, /* of accepted profiles: what they point at is not there */
    SF_COUNT_SERIES_FOLDED,   /* labels over the cap became "other" */
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
    /* pieces cut to their limits, by what they were */
    SF_COUNT_CUT_ATTRS,
    SF_COUNT_CUT_VALUES,
    SF_COUNT_CUT_KEYS,
    SF_COUNT_CUT_NAMES,
    SF_COUNT_CUT_EVENTS,
    SF_COUNT_CUT_LINKS,
    SF_COUNT_CUT_STACKS,
    SF_COUNT_CUT_LABELS,
    SF_COUNT_CUT_TIMES, /* of profiles and samples from the future */
    SF_COUNT_REDACTIONS,
    /* requests with signals this server does not keep */
    SF_COUNT_OTHER_METRICS,
    SF_COUNT_OTHER_LOGS,
    /* fields and parameters of queries that are not known here, by whose API it is */
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
/* One answered request. `route` is a place below SF_COUNTERS_ROUTES, `label` its name (constant
 * text). */
void sf_counters_request(struct sf_counters *c, unsigned route, const char *label, int status,
                         uint64_t ns);

/* Which limit of a tenant or a service refused something. */
enum sf_tenant_limit {
    SF_TENANT_LIMIT_SPANS,
    SF_TENANT_LIMIT_BYTES,
    SF_TENANT_LIMIT_SERIES,
    SF_TENANT_LIMIT_QUERIES,
    SF_TENANT_LIMITS
};

/* What is refused under load, in this order. */
enum sf_shed {
    SF_SHED_BASELINE_DETAIL,
    SF_SHED_DETAIL,
    SF_SHED_PROFILES,
    SF_SHED_SPANS,
    SF_SHEDS,
    SF_SHED_DETAILS = SF_SHED_PROFILES /* those before are counted in samples, too */
};

/* Per tenant, under the names Tempo's dashboards ask for. Beyond SF_COUNTERS_TENANTS tenants the
 * rest share one line, "(other tenants)". */
struct sf_tenant_counts {
    uint64_t n_spans, body_len;                      /* received */
    uint64_t n_bad_trace_id, n_bad_span_id, n_other; /* discarded */
    uint64_t n_rate_limited;                         /* likewise: a service was over its rate */
    uint64_t n_refused;                              /* spans of requests answered with an error */
    uint64_t n_limited[SF_TENANT_LIMITS];            /* requests refused or cut by a limit */
    uint64_t n_shed[SF_SHEDS];                       /* requests refused or cut under load */
    uint64_t n_shed_samples[SF_SHED_DETAILS];        /* samples that lost their detail */
};
void sf_counters_tenant(struct sf_counters *c, sf_str tenant, const struct sf_tenant_counts *add);

void sf_counters_render(struct sf_counters *c, struct sf_exposition *e);
