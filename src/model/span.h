/* span.h - spans with their resources and scopes, in a batch or an answer.
 *
 * Everything is a view: strings and lists are in the arena or body of the span's owner. */
#pragma once
#include "model/ids.h"
#include "model/value.h"

enum sf_span_kind {
    SF_KIND_UNSPECIFIED,
    SF_KIND_INTERNAL,
    SF_KIND_SERVER,
    SF_KIND_CLIENT,
    SF_KIND_PRODUCER,
    SF_KIND_CONSUMER,
    SF_KINDS
};

enum sf_status { SF_STATUS_UNSET, SF_STATUS_OK, SF_STATUS_ERROR, SF_STATUSES };

struct sf_resource {
    struct sf_attrs attrs;
    sf_str schema_url;
    sf_str
        service; /* service.name, "unknown_service" when absent; a view into attrs or a literal */
    uint32_t dropped_attrs;
};

struct sf_scope {
    sf_str name, version, schema_url;
    struct sf_attrs attrs;
    uint32_t dropped_attrs;
};

struct sf_event {
    uint64_t time_ns; /* unix time, as sent */
    sf_str name;
    struct sf_attrs attrs;
    uint32_t dropped_attrs;
};

struct sf_link {
    sf_trace_id trace_id;
    sf_span_id span_id;
    sf_str trace_state;
    struct sf_attrs attrs;
    uint32_t dropped_attrs;
    uint32_t flags;
};

struct sf_span {
    sf_trace_id trace_id;
    sf_span_id span_id;
    sf_span_id parent_id;      /* 0: a root */
    uint64_t start_ns, end_ns; /* unix time as sent: may be invalid, end may be before start */
    uint32_t resource, scope;  /* indexes in the batch's lists */
    sf_str name;
    uint8_t kind;   /* enum sf_span_kind */
    uint8_t status; /* enum sf_status */
    sf_str status_msg;
    sf_str trace_state;
    uint32_t flags;
    struct sf_attrs attrs;
    const struct sf_event *events;
    const struct sf_link *links;
    uint32_t n_events, n_links;
    uint32_t dropped_attrs, dropped_events, dropped_links;
};

struct sf_span_batch {
    const struct sf_resource *resources;
    const struct sf_scope *scopes;
    const struct sf_span *spans; /* in the sender's order */
    uint32_t n_resources, n_scopes, n_spans;
};

/* Wall time of the span; 0 when it ends before it starts. */
static inline uint64_t sf_span_duration_ns(const struct sf_span *s)
{
    return s->end_ns > s->start_ns ? s->end_ns - s->start_ns : 0;
}

/* Whether a request enters a service with this span: server and consumer spans, roots, and spans
 * with a remote parent (OTLP's flags: bit 9, valid if bit 8 is set). */
static inline bool sf_span_is_entry(uint8_t kind, bool is_root, uint32_t flags)
{
    return is_root || kind == SF_KIND_SERVER || kind == SF_KIND_CONSUMER ||
           (flags & 0x300) == 0x300;
}
const char *sf_span_kind_name(uint8_t kind);     /* "SPAN_KIND_SERVER" */
const char *sf_span_status_name(uint8_t status); /* "STATUS_CODE_ERROR" */

/* Of two copies of one span (same trace id, span id, kind): whether to keep `b`. The later end is
 * preferred, then the one with more attributes; of equal copies `a`. */
bool sf_span_is_better(const struct sf_span *a, const struct sf_span *b);
