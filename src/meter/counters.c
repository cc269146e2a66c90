/* counters.c - the server's own counters: fixed counters, requests by route and status with
 * durations, and rows per tenant. Adding is a relaxed atomic; the rows of tenants are found by name
 * and are bounded in number. Rendering writes Prometheus text. */
#include "meter/counters.h"

#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/limits.h"
#include "os/thread.h"

/* Statuses that are counted separately; all others are counted in the last one. */
static const int statuses[] = {200, 202, 204, 400, 401, 403, 404, 405, 408, 411, 413,
                               414, 415, 422, 429, 431, 499, 500, 501, 503, 504, 0};
enum { N_STATUSES = sizeof(statuses) / sizeof(statuses[0]) };

static const double duration_bounds[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                         0.1,   0.25,   0.5,   1,    5,     30};
enum { N_DURATIONS = sizeof(duration_bounds) / sizeof(duration_bounds[0]) };

struct route_counts {
    _Atomic(const char *) label; /* NULL: never requested */
    atomic_uint_fast64_t by_status[N_STATUSES];
    atomic_uint_fast64_t buckets[N_DURATIONS + 1];
    atomic_uint_fast64_t ns_sum;
};

struct tenant_row {
    char name[SF_LIMIT_TENANT_LEN + 1];
    struct sf_tenant_counts counts;
};

struct sf_counters {
    atomic_uint_fast64_t counts[SF_COUNTS];
    struct route_counts routes[SF_COUNTERS_ROUTES];
    struct sf_mutex mutex; /* guards what follows; no other lock is taken while it is held */
    struct tenant_row *tenants;
    size_t n_tenants;
};

struct sf_counters *sf_counters_new(void)
{
    struct sf_counters *c = sf_heap_new(sizeof(*c));
    if (!c)
        return NULL;
    c->tenants = sf_heap_new_n(SF_COUNTERS_TENANTS, sizeof(*c->tenants));
    if (!c->tenants) {
        sf_heap_free(c);
        return NULL;
    }
    sf_mutex_init(&c->mutex, SF_LOCK_METER_COUNTERS);
    return c;
}

void sf_counters_free(struct sf_counters *c)
{
    if (!c)
        return;
    sf_mutex_done(&c->mutex);
    sf_heap_free(c->tenants);
    sf_heap_free(c);
}

static void bump(atomic_uint_fast64_t *at, uint64_t n)
{
    atomic_fetch_add_explicit(at, n, memory_order_relaxed);
}

static uint64_t counters_peek(const atomic_uint_fast64_t *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

void sf_counters_add(struct sf_counters *c, enum sf_count what, uint64_t n)
{
    if (n)
        bump(&c->counts[what], n);
}

uint64_t sf_counters_get(const struct sf_counters *c, enum sf_count what)
{
    return counters_peek(&c->counts[what]);
}

void sf_counters_request(struct sf_counters *c, unsigned route, const char *label, int status,
                         uint64_t ns)
{
    struct route_counts *r = &c->routes[route < SF_COUNTERS_ROUTES ? route : 0];
    atomic_store_explicit(&r->label, label, memory_order_relaxed);
    size_t i = 0;
    while (i < N_STATUSES - 1 && statuses[i] != status)
        i++;
    bump(&r->by_status[i], 1);
    size_t b = 0;
    while (b < N_DURATIONS && (double)ns > duration_bounds[b] * 1e9)
        b++;
    bump(&r->buckets[b], 1);
    bump(&r->ns_sum, ns);
}

static struct tenant_row *counters_find_tenant(struct sf_counters *c, sf_str tenant)
{
    for (size_t i = 0; i < c->n_tenants; i++) {
        if (sf_str_eq(sf_str_from(c->tenants[i].name), tenant))
            return &c->tenants[i];
    }
    if (c->n_tenants == SF_COUNTERS_TENANTS)
        return &c->tenants[SF_COUNTERS_TENANTS - 1];
    struct tenant_row *row = &c->tenants[c->n_tenants++];
    if (c->n_tenants == SF_COUNTERS_TENANTS)
        tenant = SF_STR("(other tenants)");
    size_t len = tenant.len < sizeof(row->name) ? tenant.len : sizeof(row->name) - 1;
    memcpy(row->name, tenant.p, len);
    return row;
}

void sf_counters_tenant(struct sf_counters *c, sf_str tenant, const struct sf_tenant_counts *add)
{
    sf_mutex_lock(&c->mutex);
    struct sf_tenant_counts *to = &counters_find_tenant(c, tenant)->counts;
    to->n_spans += add->n_spans;
    to->body_len += add->body_len;
    to->n_bad_trace_id += add->n_bad_trace_id;
    to->n_bad_span_id += add->n_bad_span_id;
    to->n_other += add->n_other;
    to->n_rate_limited += add->n_rate_limited;
    to->n_refused += add->n_refused;
    for (unsigned i = 0; i < SF_TENANT_LIMITS; i++)
        to->n_limited[i] += add->n_limited[i];
    for (unsigned i = 0; i < SF_SHEDS; i++)
        to->n_shed[i] += add->n_shed[i];
    for (unsigned i = 0; i < SF_SHED_DETAILS; i++)
        to->n_shed_samples[i] += add->n_shed_samples[i];
    sf_mutex_unlock(&c->mutex);
}

/* ---- text ---- */

struct line { /* consecutive lines may belong to one family */
    enum sf_count count;
    const char *family, *label, *val, *help;
};

static const struct line lines[] = {
    {SF_COUNT_SPANS_RECEIVED, "spanflame_spans_received", NULL, NULL,
     "Spans in requests that could be decoded."},
    {SF_COUNT_SPANS_ACKED, "spanflame_spans_acknowledged", NULL, NULL,
     "Spans that were durable when the sender got its answer."},
    {SF_COUNT_PROFILES_RECEIVED, "spanflame_profiles_received", NULL, NULL,
     "Profiles in requests that could be decoded."},
    {SF_COUNT_SAMPLES_RECEIVED, "spanflame_samples_received", NULL, NULL,
     "Samples in profiles that could be decoded."},
    {SF_COUNT_SAMPLES_ACKED, "spanflame_samples_acknowledged", NULL, NULL,
     "Samples that were durable when the sender got its answer."},
    {SF_COUNT_SAMPLES_DROPPED, "spanflame_samples_dropped", NULL, NULL,
     "Samples left out of accepted profiles, because what they point at is not there."},
    {SF_COUNT_SERIES_FOLDED, "spanflame_series_folded", NULL, NULL,
     "Profile series whose labels went over the cap and became other."},
    {SF_COUNT_REJECT_NOT_READY, "spanflame_requests_rejected", "reason", "not_ready",
     "Requests refused, by reason."},
    {SF_COUNT_REJECT_QUEUE_FULL, "spanflame_requests_rejected", "reason", "queue_full", NULL},
    {SF_COUNT_REJECT_PRESSURE, "spanflame_requests_rejected", "reason", "pressure", NULL},
    {SF_COUNT_REJECT_DISK, "spanflame_requests_rejected", "reason", "disk", NULL},
    {SF_COUNT_REJECT_MALFORMED, "spanflame_requests_rejected", "reason", "malformed", NULL},
    {SF_COUNT_REJECT_TOO_LARGE, "spanflame_requests_rejected", "reason", "too_large", NULL},
    {SF_COUNT_REJECT_CONTENT_TYPE, "spanflame_requests_rejected", "reason", "content_type", NULL},
    {SF_COUNT_REJECT_ENCODING, "spanflame_requests_rejected", "reason", "encoding", NULL},
    {SF_COUNT_REJECT_UNAUTHENTICATED, "spanflame_requests_rejected", "reason", "unauthenticated",
     NULL},
    {SF_COUNT_REJECT_DENIED, "spanflame_requests_rejected", "reason", "denied", NULL},
    {SF_COUNT_REJECT_TENANT, "spanflame_requests_rejected", "reason", "tenant", NULL},
    {SF_COUNT_REJECT_NO_ROUTE, "spanflame_requests_rejected", "reason", "no_route", NULL},
    {SF_COUNT_REJECT_METHOD, "spanflame_requests_rejected", "reason", "method", NULL},
    {SF_COUNT_REJECT_LIMIT, "spanflame_requests_rejected", "reason", "limit", NULL},
    {SF_COUNT_REJECT_INTERNAL, "spanflame_requests_rejected", "reason", "internal", NULL},
    {SF_COUNT_DISCARD_TRACE_ID, "spanflame_spans_discarded", "reason", "invalid_trace_id",
     "Spans left out of accepted requests, by reason."},
    {SF_COUNT_DISCARD_SPAN_ID, "spanflame_spans_discarded", "reason", "invalid_span_id", NULL},
    {SF_COUNT_DISCARD_RATE, "spanflame_spans_discarded", "reason", "rate_limited", NULL},
    {SF_COUNT_DISCARD_OTHER, "spanflame_spans_discarded", "reason", "other", NULL},
    {SF_COUNT_CUT_ATTRS, "spanflame_cut", "what", "attributes",
     "Pieces of spans cut to their limits, by what they were."},
    {SF_COUNT_CUT_VALUES, "spanflame_cut", "what", "values", NULL},
    {SF_COUNT_CUT_KEYS, "spanflame_cut", "what", "keys", NULL},
    {SF_COUNT_CUT_NAMES, "spanflame_cut", "what", "names", NULL},
    {SF_COUNT_CUT_EVENTS, "spanflame_cut", "what", "events", NULL},
    {SF_COUNT_CUT_LINKS, "spanflame_cut", "what", "links", NULL},
    {SF_COUNT_CUT_STACKS, "spanflame_cut", "what", "stacks", NULL},
    {SF_COUNT_CUT_LABELS, "spanflame_cut", "what", "labels", NULL},
    {SF_COUNT_CUT_TIMES, "spanflame_cut", "what", "times", NULL},
    {SF_COUNT_REDACTIONS, "spanflame_redactions", NULL, NULL,
     "Values replaced before anything was written."},
    {SF_COUNT_OTHER_METRICS, "spanflame_other_signals", "signal", "metrics",
     "OTLP requests with signals this server does not keep."},
    {SF_COUNT_OTHER_LOGS, "spanflame_other_signals", "signal", "logs", NULL},
    {SF_COUNT_UNKNOWN_PYROSCOPE, "spanflame_unknown_request_fields", "api", "pyroscope",
     "Fields and parameters of queries that this server does not know and passed over, by API."},
    {SF_COUNT_UNKNOWN_TEMPO, "spanflame_unknown_request_fields", "api", "tempo", NULL},
    {SF_COUNT_LISTEN_FAULTS, "spanflame_listen_faults", NULL, NULL,
     "Requests that never reached a route: bad framing, floods, timeouts."},
};
_Static_assert(sizeof(lines) / sizeof(lines[0]) == SF_COUNTS, "every counter has its line");

static void render_lines(struct sf_counters *c, struct sf_exposition *e)
{
    const char *family = "";
    for (size_t i = 0; i < SF_COUNTS; i++) {
        const struct line *line = &lines[i];
        if (strcmp(family, line->family) != 0)
            sf_exposition_family(e, line->family, SF_METRIC_COUNTER, line->help);
        family = line->family;
        struct sf_metric_label label = {line->label, sf_str_from(line->val)};
        sf_exposition_u64(e, &label, line->label ? 1 : 0, counters_peek(&c->counts[line->count]));
    }
}

static void render_requests(struct sf_counters *c, struct sf_exposition *e)
{
    sf_exposition_family(e, "spanflame_requests", SF_METRIC_COUNTER,
                         "Requests answered, by route and HTTP status.");
    for (size_t i = 0; i < SF_COUNTERS_ROUTES; i++) {
        struct route_counts *r = &c->routes[i];
        const char *label = atomic_load_explicit(&r->label, memory_order_relaxed);
        for (size_t s = 0; label && s < N_STATUSES; s++) {
            uint64_t n = counters_peek(&r->by_status[s]);
            char status[8] = "other";
            if (statuses[s])
                snprintf(status, sizeof(status), "%d", statuses[s]);
            struct sf_metric_label labels[] = {{"route", sf_str_from(label)},
                                               {"status", sf_str_from(status)}};
            if (n)
                sf_exposition_u64(e, labels, 2, n);
        }
    }
}

static void render_durations(struct sf_counters *c, struct sf_exposition *e)
{
    sf_exposition_family(e, "spanflame_request_duration_seconds", SF_METRIC_HISTOGRAM,
                         "From complete headers to the answer being handed back, by route.");
    for (size_t i = 0; i < SF_COUNTERS_ROUTES; i++) {
        struct route_counts *r = &c->routes[i];
        const char *text = atomic_load_explicit(&r->label, memory_order_relaxed);
        if (!text)
            continue;
        uint64_t counts[N_DURATIONS + 1];
        for (size_t b = 0; b <= N_DURATIONS; b++)
            counts[b] = counters_peek(&r->buckets[b]);
        struct sf_metric_label label = {"route", sf_str_from(text)};
        sf_exposition_histogram(e, &label, 1, duration_bounds, N_DURATIONS, counts,
                                (double)counters_peek(&r->ns_sum) / 1e9, NULL);
    }
}

/* Writes one family for all tenants, with a second label if `val` is not NULL. */
static void render_labelled(struct sf_counters *c, struct sf_exposition *e, size_t field_off,
                            const char *label, const char *text)
{
    for (size_t i = 0; i < c->n_tenants; i++) {
        struct tenant_row *row = &c->tenants[i];
        struct sf_metric_label labels[] = {{"tenant", sf_str_from(row->name)},
                                           {label, sf_str_from(text)}};
        uint64_t val;
        memcpy(&val, (const char *)&row->counts + field_off, sizeof(val));
        sf_exposition_u64(e, labels, text ? 2 : 1, val);
    }
}

static void render_tenants(struct sf_counters *c, struct sf_exposition *e, size_t field_off,
                           const char *reason)
{
    render_labelled(c, e, field_off, "reason", reason);
}

static void render_limits(struct sf_counters *c, struct sf_exposition *e)
{
    static const char *const limits[SF_TENANT_LIMITS] = {"spans_per_second", "bytes_per_second",
                                                         "series", "queries"};
    static const char *const sheds[SF_SHEDS] = {"baseline_detail", "detail", "profiles", "spans"};
    sf_mutex_lock(&c->mutex);
    sf_exposition_family(e, "spanflame_limited", SF_METRIC_COUNTER,
                         "Requests refused or cut because a tenant or a service was over a limit.");
    for (unsigned i = 0; i < SF_TENANT_LIMITS; i++)
        render_labelled(c, e, offsetof(struct sf_tenant_counts, n_limited) + i * sizeof(uint64_t),
                        "limit", limits[i]);
    sf_exposition_family(e, "spanflame_shed", SF_METRIC_COUNTER,
                         "Requests refused or cut under load, by what was not taken.");
    for (unsigned i = 0; i < SF_SHEDS; i++)
        render_labelled(c, e, offsetof(struct sf_tenant_counts, n_shed) + i * sizeof(uint64_t),
                        "what", sheds[i]);
    sf_exposition_family(e, "spanflame_shed_samples", SF_METRIC_COUNTER,
                         "Samples that were taken without their detail under load.");
    for (unsigned i = 0; i < SF_SHED_DETAILS; i++)
        render_labelled(c, e,
                        offsetof(struct sf_tenant_counts, n_shed_samples) + i * sizeof(uint64_t),
                        "what", sheds[i]);
    sf_mutex_unlock(&c->mutex);
}

static void render_tempo_names(struct sf_counters *c, struct sf_exposition *e)
{
    sf_mutex_lock(&c->mutex);
    sf_exposition_family(e, "tempo_distributor_spans_received", SF_METRIC_COUNTER,
                         "Spans received, by tenant.");
    render_tenants(c, e, offsetof(struct sf_tenant_counts, n_spans), NULL);
    sf_exposition_family(e, "tempo_distributor_bytes_received", SF_METRIC_COUNTER,
                         "Request bytes received, by tenant.");
    render_tenants(c, e, offsetof(struct sf_tenant_counts, body_len), NULL);
    sf_exposition_family(e, "tempo_discarded_spans", SF_METRIC_COUNTER,
                         "Spans discarded, by tenant and reason.");
    render_tenants(c, e, offsetof(struct sf_tenant_counts, n_bad_trace_id), "invalid_trace_id");
    render_tenants(c, e, offsetof(struct sf_tenant_counts, n_bad_span_id), "invalid_span_id");
    render_tenants(c, e, offsetof(struct sf_tenant_counts, n_rate_limited), "rate_limited");
    render_tenants(c, e, offsetof(struct sf_tenant_counts, n_other), "unknown_error");
    uint64_t n_accepted = 0, n_refused = 0;
    for (size_t i = 0; i < c->n_tenants; i++) {
        const struct sf_tenant_counts *t = &c->tenants[i].counts;
        n_accepted += t->n_spans - t->n_refused;
        n_refused += t->n_refused;
    }
    sf_mutex_unlock(&c->mutex);
    sf_exposition_family(e, "tempo_receiver_accepted_spans", SF_METRIC_COUNTER_BARE,
                         "Spans of requests that were acknowledged.");
    sf_exposition_u64(e, NULL, 0, n_accepted);
    sf_exposition_family(e, "tempo_receiver_refused_spans", SF_METRIC_COUNTER_BARE,
                         "Spans of requests that were answered with an error.");
    sf_exposition_u64(e, NULL, 0, n_refused);
}

void sf_counters_render(struct sf_counters *c, struct sf_exposition *e)
{
    render_requests(c, e);
    render_durations(c, e);
    render_lines(c, e);
    render_tempo_names(c, e);
    render_limits(c, e);
}
