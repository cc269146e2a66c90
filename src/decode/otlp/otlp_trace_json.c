/* JSON has no lengths: skipping a span costs as much as scanning it, so a request decoded whole is
 * read once. The keys of an object come in any order; the resource and scope of spans already read
 * are set when their object ends. For a request decoded in pieces that is too late: there the two
 * are read ahead, with a copy of the cursor, when their object begins and again for every piece
 * that begins inside it. */
#include "base/limits.h"
#include "base/num.h"
#include "base/text.h"
#include "decode/otlp/otlp_build.h"

#define KEY(camel, snake)            \
    {                                \
        {camel, sizeof(camel) - 1},  \
        {                            \
            snake, sizeof(snake) - 1 \
        }                            \
    }

struct decoder {
    struct sf_json j;
    /* In pieces only: start of the current ResourceSpans, ScopeSpans and Span. */
    struct sf_json resource_start, scope_start, span_start;
    struct sf_json ahead; /* the copy that reads ahead */
    bool is_in_scope;
};

enum { RES_ATTRS, RES_DROPPED, RES_KEYS };
static const struct sf_otlp_key resource_keys[RES_KEYS] = {
    KEY("attributes", ""), KEY("droppedAttributesCount", "dropped_attributes_count")};

static void otlp_trace_json_read_resource(struct sf_otlp_build *b, struct sf_json *j)
{
    struct sf_otlp_attrs attrs = {0};
    sf_str key;
    b->resource.attrs = (struct sf_attrs){0};
    b->resource.dropped_attrs = 0;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        switch (sf_otlp_attrs_json_key_find(resource_keys, RES_KEYS, key)) {
        case RES_ATTRS: sf_otlp_attrs_json_read(&b->rq, j, &attrs); break;
        case RES_DROPPED: b->resource.dropped_attrs = sf_json_u32(j); break;
        default: sf_json_skip(j); break;
        }
    }
    b->resource.attrs = sf_otlp_attrs_close(&b->rq, &attrs, &b->resource.dropped_attrs);
}

enum { SCOPE_NAME, SCOPE_VERSION, SCOPE_ATTRS, SCOPE_DROPPED, SCOPE_KEYS };
static const struct sf_otlp_key scope_keys[SCOPE_KEYS] = {
    KEY("name", ""), KEY("version", ""), KEY("attributes", ""),
    KEY("droppedAttributesCount", "dropped_attributes_count")};

static void otlp_trace_json_read_scope(struct sf_otlp_build *b, struct sf_json *j)
{
    struct sf_otlp_attrs attrs = {0};
    struct sf_scope sc = {.schema_url = b->scope.schema_url};
    sf_str key;
    if (sf_json_object(j)) {
        while (sf_json_key(j, &key)) {
            switch (sf_otlp_attrs_json_key_find(scope_keys, SCOPE_KEYS, key)) {
            case SCOPE_NAME: sc.name = sf_otlp_name(&b->rq, sf_json_str(j)); break;
            case SCOPE_VERSION: sc.version = sf_otlp_name(&b->rq, sf_json_str(j)); break;
            case SCOPE_ATTRS: sf_otlp_attrs_json_read(&b->rq, j, &attrs); break;
            case SCOPE_DROPPED: sc.dropped_attrs = sf_json_u32(j); break;
            default: sf_json_skip(j); break;
            }
        }
        sc.attrs = sf_otlp_attrs_close(&b->rq, &attrs, &sc.dropped_attrs);
    }
    b->scope = sc;
}

/* Decodes an id of at most `max` bytes from hexadecimal text into `raw`. Of a longer one only the
 * length is returned, for which it is refused. */
static sf_bytes otlp_trace_json_read_id(struct sf_json *j, uint8_t *raw, size_t max,
                                        const char *name, const char **not_hex)
{
    sf_str text = sf_json_str(j);
    size_t len = text.len / 2;
    bool is_hex = text.len % 2 == 0;
    if (is_hex && len <= max) {
        is_hex = sf_hex_decode(text, raw, len);
    } else {
        for (size_t i = 0; i < text.len && is_hex; i++)
            is_hex = sf_hex_digit(text.p[i]) >= 0;
    }
    if (!is_hex && !*not_hex)
        *not_hex = name;
    return (sf_bytes){raw, is_hex ? len : 0};
}

/* A number, a number in quotes or a name; unknown: 0. */
static uint8_t read_enum(struct sf_json *j, const char *(*name_of)(uint8_t), uint8_t n)
{
    int64_t v;
    if (sf_json_peek(j) == SF_JSON_STRING) {
        sf_str text = sf_json_str(j);
        for (uint8_t i = 0; i < n; i++) {
            if (sf_str_eq(text, sf_str_from(name_of(i))))
                return i;
        }
        if (!sf_str_to_i64(text, &v))
            return 0;
    } else {
        v = sf_json_i64(j);
    }
    return (uint8_t)(v > 0 && v < n ? v : 0);
}

enum { EV_TIME, EV_NAME, EV_ATTRS, EV_DROPPED, EV_KEYS };
static const struct sf_otlp_key event_keys[EV_KEYS] = {
    KEY("timeUnixNano", "time_unix_nano"), KEY("name", ""), KEY("attributes", ""),
    KEY("droppedAttributesCount", "dropped_attributes_count")};

static void otlp_trace_json_read_event(struct sf_otlp_build *b, struct sf_json *j,
                                       struct sf_event *ev)
{
    struct sf_otlp_attrs attrs = {0};
    sf_str key;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        switch (sf_otlp_attrs_json_key_find(event_keys, EV_KEYS, key)) {
        case EV_TIME: ev->time_ns = sf_json_u64(j); break;
        case EV_NAME: ev->name = sf_otlp_name(&b->rq, sf_json_str(j)); break;
        case EV_ATTRS: sf_otlp_attrs_json_read(&b->rq, j, &attrs); break;
        case EV_DROPPED: ev->dropped_attrs = sf_json_u32(j); break;
        default: sf_json_skip(j); break;
        }
    }
    ev->attrs = sf_otlp_attrs_close(&b->rq, &attrs, &ev->dropped_attrs);
}

/* The lists of a span being built: the number of dropped items is known only at the end. */
struct lists {
    struct sf_event *events;
    struct sf_link *links;
    uint32_t n_events, cap_events, n_links, cap_links;
    uint32_t n_cut_events, n_cut_links;
};

static void otlp_trace_json_read_events(struct sf_otlp_build *b, struct sf_json *j, struct lists *l)
{
    l->n_events = l->n_cut_events = 0;
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j)) {
        struct sf_event ev = {0}, *list;
        otlp_trace_json_read_event(b, j, &ev);
        if (l->n_events == SF_LIMIT_EVENTS) {
            l->n_cut_events++;
            continue;
        }
        list = sf_otlp_attrs_list_more(&b->rq, l->events, l->n_events, &l->cap_events, sizeof(ev),
                                       4);
        if (!list)
            continue;
        l->events = list;
        list[l->n_events++] = ev;
    }
}

enum { LINK_TRACE, LINK_SPAN, LINK_STATE, LINK_ATTRS, LINK_DROPPED, LINK_FLAGS, LINK_KEYS };
static const struct sf_otlp_key link_keys[LINK_KEYS] = {
    KEY("traceId", "trace_id"),
    KEY("spanId", "span_id"),
    KEY("traceState", "trace_state"),
    KEY("attributes", ""),
    KEY("droppedAttributesCount", "dropped_attributes_count"),
    KEY("flags", "")};

/* False: its ids are invalid, so it is dropped. */
static bool otlp_trace_json_read_link(struct sf_otlp_build *b, struct sf_json *j,
                                      struct sf_link *link)
{
    struct sf_otlp_attrs attrs = {0};
    const char *not_hex = NULL;
    sf_bytes trace_id = {0}, span_id = {0};
    uint8_t span_raw[8];
    sf_str key;

    if (!sf_json_object(j))
        return false;
    while (sf_json_key(j, &key)) {
        switch (sf_otlp_attrs_json_key_find(link_keys, LINK_KEYS, key)) {
        case LINK_TRACE:
            trace_id = otlp_trace_json_read_id(j, link->trace_id.b, 16, "", &not_hex);
            break;
        case LINK_SPAN: span_id = otlp_trace_json_read_id(j, span_raw, 8, "", &not_hex); break;
        case LINK_STATE: link->trace_state = sf_otlp_name(&b->rq, sf_json_str(j)); break;
        case LINK_ATTRS: sf_otlp_attrs_json_read(&b->rq, j, &attrs); break;
        case LINK_DROPPED: link->dropped_attrs = sf_json_u32(j); break;
        case LINK_FLAGS: link->flags = sf_json_u32(j); break;
        default: sf_json_skip(j); break;
        }
    }
    link->attrs = sf_otlp_attrs_close(&b->rq, &attrs, &link->dropped_attrs);
    if (not_hex || trace_id.len != 16 || span_id.len != 8)
        return false;
    link->span_id = sf_load_u64be(span_raw);
    return link->span_id && !sf_trace_id_is_zero(link->trace_id);
}

static void otlp_trace_json_read_links(struct sf_otlp_build *b, struct sf_json *j, struct lists *l)
{
    l->n_links = l->n_cut_links = 0;
    if (!sf_json_array(j))
        return;
    while (sf_json_item(j)) {
        struct sf_link link = {0}, *list;
        if (!otlp_trace_json_read_link(b, j, &link) || l->n_links == SF_LIMIT_LINKS) {
            l->n_cut_links++;
            continue;
        }
        list = sf_otlp_attrs_list_more(&b->rq, l->links, l->n_links, &l->cap_links, sizeof(link),
                                       4);
        if (!list)
            continue;
        l->links = list;
        list[l->n_links++] = link;
    }
}

static void otlp_trace_json_read_status(struct sf_otlp_build *b, struct sf_json *j,
                                        struct sf_span *s)
{
    sf_str key;
    s->status = SF_STATUS_UNSET;
    s->status_msg = SF_STR_NONE;
    if (!sf_json_object(j))
        return;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("code")))
            s->status = read_enum(j, sf_span_status_name, SF_STATUSES);
        else if (sf_str_eq(key, SF_STR("message")))
            s->status_msg = sf_otlp_name(&b->rq, sf_json_str(j));
        else
            sf_json_skip(j);
    }
}

enum {
    SPAN_TRACE,
    SPAN_SPAN,
    SPAN_STATE,
    SPAN_PARENT,
    SPAN_FLAGS,
    SPAN_NAME,
    SPAN_KIND,
    SPAN_START,
    SPAN_END,
    SPAN_ATTRS,
    SPAN_DROPPED_ATTRS,
    SPAN_EVENTS,
    SPAN_DROPPED_EVENTS,
    SPAN_LINKS,
    SPAN_DROPPED_LINKS,
    SPAN_STATUS,
    SPAN_KEYS
};
static const struct sf_otlp_key span_keys[SPAN_KEYS] = {
    KEY("traceId", "trace_id"),
    KEY("spanId", "span_id"),
    KEY("traceState", "trace_state"),
    KEY("parentSpanId", "parent_span_id"),
    KEY("flags", ""),
    KEY("name", ""),
    KEY("kind", ""),
    KEY("startTimeUnixNano", "start_time_unix_nano"),
    KEY("endTimeUnixNano", "end_time_unix_nano"),
    KEY("attributes", ""),
    KEY("droppedAttributesCount", "dropped_attributes_count"),
    KEY("events", ""),
    KEY("droppedEventsCount", "dropped_events_count"),
    KEY("links", ""),
    KEY("droppedLinksCount", "dropped_links_count"),
    KEY("status", ""),
};

struct raw_ids {
    uint8_t trace_id[16], span_id[8], parent_id[8];
};

static void otlp_trace_json_read_span(struct sf_otlp_build *b, struct sf_json *j, struct sf_span *s,
                                      struct sf_otlp_ids *ids, struct raw_ids *raw)
{
    struct sf_otlp_attrs attrs = {0};
    struct lists l = {0};
    sf_str key;

    if (!sf_json_object(j))
        return; /* null: a span without ids, and refused as such */
    while (sf_json_key(j, &key)) {
        switch (sf_otlp_attrs_json_key_find(span_keys, SPAN_KEYS, key)) {
        case SPAN_TRACE:
            ids->trace_id = otlp_trace_json_read_id(j, raw->trace_id, 16, "trace id",
                                                    &ids->not_hex);
            break;
        case SPAN_SPAN:
            ids->span_id = otlp_trace_json_read_id(j, raw->span_id, 8, "span id", &ids->not_hex);
            break;
        case SPAN_PARENT:
            ids->parent_id = otlp_trace_json_read_id(j, raw->parent_id, 8, "parent span id",
                                                     &ids->not_hex);
            break;
        case SPAN_STATE: s->trace_state = sf_otlp_name(&b->rq, sf_json_str(j)); break;
        case SPAN_FLAGS: s->flags = sf_json_u32(j); break;
        case SPAN_NAME: s->name = sf_otlp_name(&b->rq, sf_json_str(j)); break;
        case SPAN_KIND: s->kind = read_enum(j, sf_span_kind_name, SF_KINDS); break;
        case SPAN_START: s->start_ns = sf_json_u64(j); break;
        case SPAN_END: s->end_ns = sf_json_u64(j); break;
        case SPAN_ATTRS: sf_otlp_attrs_json_read(&b->rq, j, &attrs); break;
        case SPAN_DROPPED_ATTRS: s->dropped_attrs = sf_json_u32(j); break;
        case SPAN_EVENTS: otlp_trace_json_read_events(b, j, &l); break;
        case SPAN_DROPPED_EVENTS: s->dropped_events = sf_json_u32(j); break;
        case SPAN_LINKS: otlp_trace_json_read_links(b, j, &l); break;
        case SPAN_DROPPED_LINKS: s->dropped_links = sf_json_u32(j); break;
        case SPAN_STATUS: otlp_trace_json_read_status(b, j, s); break;
        default: sf_json_skip(j); break;
        }
    }
    s->attrs = sf_otlp_attrs_close(&b->rq, &attrs, &s->dropped_attrs);
    s->events = l.n_events ? l.events : NULL;
    s->n_events = l.n_events;
    s->dropped_events = sf_otlp_attrs_add_dropped(s->dropped_events, l.n_cut_events);
    b->rq.rejects->n_cut_events += l.n_cut_events;
    s->links = l.n_links ? l.links : NULL;
    s->n_links = l.n_links;
    s->dropped_links = sf_otlp_attrs_add_dropped(s->dropped_links, l.n_cut_links);
    b->rq.rejects->n_cut_links += l.n_cut_links;
}

/* The reader's LIMIT means no space for an unescaped string: the same as a full list. */
static bool is_arena_full(const struct sf_otlp_build *b, const struct sf_json *j)
{
    return b->rq.is_arena_full || (j->fault && j->err == SF_ERR_LIMIT);
}

static bool otlp_trace_json_add_span(struct sf_otlp_build *b, struct sf_json *j)
{
    struct decoder *d = b->decoder;
    if (b->take)
        d->span_start = *j;
    for (;;) {
        struct sf_otlp_ids ids = {0};
        struct raw_ids raw;
        struct sf_span *s = sf_otlp_build_span(b);
        if (!s)
            return false;
        otlp_trace_json_read_span(b, j, s, &ids, &raw);
        if (!is_arena_full(b, j)) {
            if (!sf_json_ok(j))
                return false;
            sf_otlp_build_check_ids(b, s, &ids);
        }
        if (!is_arena_full(b, j))
            return true;
        if (!sf_otlp_build_retry(b))
            return false;
        *j = d->span_start;
    }
}

/* Reads resource or scope ahead. False: the error is in `j`, or see b->err. */
static bool otlp_trace_json_look_ahead(struct sf_otlp_build *b, struct sf_json *j,
                                       bool (*read)(struct sf_otlp_build *, struct sf_json *, bool))
{
    struct decoder *d = b->decoder;
    d->ahead = *j;
    read(b, &d->ahead, true);
    if (is_arena_full(b, &d->ahead))
        return sf_otlp_build_give(b); /* calls reload, which reads it again with more space */
    if (!sf_json_ok(&d->ahead))
        *j = d->ahead;
    return sf_json_ok(j);
}

enum { SS_SCOPE, SS_SPANS, SS_SCHEMA, SS_KEYS };
static const struct sf_otlp_key scope_spans_keys[SS_KEYS] = {KEY("scope", ""), KEY("spans", ""),
                                                             KEY("schemaUrl", "schema_url")};

static bool otlp_trace_json_read_spans(struct sf_otlp_build *b, struct sf_json *j)
{
    if (!sf_json_array(j))
        return sf_json_ok(j);
    for (b->at_span = 0; sf_json_item(j); b->at_span++) {
        if (!otlp_trace_json_add_span(b, j))
            return false;
    }
    return sf_json_ok(j);
}

/* Reads the members of a ScopeSpans; when reading ahead, all but its spans. */
static bool otlp_trace_json_read_scope_spans(struct sf_otlp_build *b, struct sf_json *j,
                                             bool is_ahead)
{
    bool is_final = b->take && !is_ahead; /* already read ahead */
    sf_str key;

    if (!is_final)
        b->scope = (struct sf_scope){0};
    if (!sf_json_object(j))
        return sf_json_ok(j);
    while (sf_json_key(j, &key)) {
        size_t which = sf_otlp_attrs_json_key_find(scope_spans_keys, SS_KEYS, key);
        if (which == SS_SPANS && !is_ahead) {
            if (!otlp_trace_json_read_spans(b, j))
                return false;
        } else if (which == SS_SCOPE && !is_final) {
            otlp_trace_json_read_scope(b, j);
        } else if (which == SS_SCHEMA && !is_final) {
            b->scope.schema_url = sf_otlp_name(&b->rq, sf_json_str(j));
        } else {
            sf_json_skip(j);
        }
    }
    if (!b->take && b->scope_slot != SF_OTLP_NO_SLOT)
        b->scopes[b->scope_slot] = b->scope;
    return sf_json_ok(j);
}

static bool begin_scope_spans(struct sf_otlp_build *b, struct sf_json *j)
{
    struct decoder *d = b->decoder;
    bool is_fine;
    b->scope_slot = SF_OTLP_NO_SLOT;
    if (b->take) {
        d->scope_start = *j;
        d->is_in_scope = true;
        if (!otlp_trace_json_look_ahead(b, j, otlp_trace_json_read_scope_spans))
            return false;
    }
    is_fine = otlp_trace_json_read_scope_spans(b, j, false);
    d->is_in_scope = false;
    return is_fine;
}

enum { RS_RESOURCE, RS_SCOPES, RS_SCHEMA, RS_KEYS };
static const struct sf_otlp_key resource_spans_keys[RS_KEYS] = {
    KEY("resource", ""), KEY("scopeSpans", "scope_spans"), KEY("schemaUrl", "schema_url")};

static bool otlp_trace_json_read_scopes(struct sf_otlp_build *b, struct sf_json *j)
{
    if (!sf_json_array(j))
        return sf_json_ok(j);
    for (b->at_scope = 0; sf_json_item(j); b->at_scope++) {
        if (!begin_scope_spans(b, j))
            return false;
    }
    return sf_json_ok(j);
}

static bool otlp_trace_json_read_resource_spans(struct sf_otlp_build *b, struct sf_json *j,
                                                bool is_ahead)
{
    bool is_final = b->take && !is_ahead;
    sf_str key;

    if (!is_final)
        b->resource = (struct sf_resource){.service = SF_STR("unknown_service")};
    if (!sf_json_object(j))
        return sf_json_ok(j);
    while (sf_json_key(j, &key)) {
        size_t which = sf_otlp_attrs_json_key_find(resource_spans_keys, RS_KEYS, key);
        if (which == RS_SCOPES && !is_ahead) {
            if (!otlp_trace_json_read_scopes(b, j))
                return false;
        } else if (which == RS_RESOURCE && !is_final) {
            otlp_trace_json_read_resource(b, j);
            sf_otlp_build_service(&b->resource);
        } else if (which == RS_SCHEMA && !is_final) {
            b->resource.schema_url = sf_otlp_name(&b->rq, sf_json_str(j));
        } else {
            sf_json_skip(j);
        }
    }
    if (!b->take && b->resource_slot != SF_OTLP_NO_SLOT)
        b->resources[b->resource_slot] = b->resource;
    return sf_json_ok(j);
}

static bool begin_resource_spans(struct sf_otlp_build *b, struct sf_json *j)
{
    struct decoder *d = b->decoder;
    b->resource_slot = SF_OTLP_NO_SLOT;
    if (b->take) {
        d->resource_start = *j;
        if (!otlp_trace_json_look_ahead(b, j, otlp_trace_json_read_resource_spans))
            return false;
    }
    return otlp_trace_json_read_resource_spans(b, j, false);
}

/* Both were read before without an error, so only the arena can fail, which the caller checks. */
static bool otlp_trace_json_reload(struct sf_otlp_build *b)
{
    struct decoder *d = b->decoder;
    struct sf_otlp_rejects counted = *b->rq.rejects; /* truncation is not counted twice */
    d->ahead = d->resource_start;
    otlp_trace_json_read_resource_spans(b, &d->ahead, true);
    if (d->is_in_scope && !is_arena_full(b, &d->ahead)) {
        d->ahead = d->scope_start;
        otlp_trace_json_read_scope_spans(b, &d->ahead, true);
    }
    b->rq.is_arena_full = is_arena_full(b, &d->ahead);
    *b->rq.rejects = counted;
    return true;
}

static void read_request(struct sf_otlp_build *b, struct sf_json *j)
{
    static const struct sf_otlp_key names[1] = {KEY("resourceSpans", "resource_spans")};
    sf_str key;

    if (!sf_json_object(j)) {
        if (sf_json_ok(j))
            sf_json_fault(j, "an object is needed here");
        return;
    }
    while (sf_json_key(j, &key)) {
        if (sf_otlp_attrs_json_key_find(names, 1, key) == 1) {
            sf_json_skip(j);
            continue;
        }
        if (!sf_json_array(j))
            continue;
        for (b->at_resource = 0; sf_json_item(j); b->at_resource++) {
            if (!begin_resource_spans(b, j))
                return;
        }
    }
    sf_json_end(j);
}

enum sf_err sf_otlp_trace_json_read(struct sf_otlp_build *b, sf_bytes body)
{
    struct decoder d = {.is_in_scope = false};

    sf_json_init(&d.j, sf_bytes_str(body), b->rq.req);
    sf_otlp_build_set_decoder(b, &d, otlp_trace_json_reload);
    b->n_expected = (uint32_t)(body.len < (1u << 30) ? body.len / 1024 + 8 : 0);
    /* No value is longer than its text; only the headers of nested lists add to it. */
    b->rq.scratch = (struct sf_buf){.max = body.len + 1024};
    read_request(b, &d.j);
    sf_otlp_build_set_decoder(b, NULL, NULL);
    sf_buf_done(&b->rq.scratch);
    if (b->err)
        return b->err;
    if (is_arena_full(b, &d.j))
        return sf_otlp_build_full(b);
    return sf_json_why(&d.j, "OTLP traces", b->why);
}
