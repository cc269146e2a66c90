/* otlp_encode.c - any span batch as an OTLP request; the encoders of otlp_make.h. Zero fields are
 * left out, as SDKs do. Runs of one resource become a ResourceSpans, runs of one scope a
 * ScopeSpans. */
#include "base/invariant.h"
#include "base/num.h"
#include "support/otlp_make.h"
#include "wire/json_write.h"
#include "wire/pb.h"
#include "wire/pb_write.h"

static void pb_u32(struct sf_buf *out, uint32_t field, uint32_t v)
{
    if (v)
        sf_pb_write_u64(out, field, v);
}

static void pb_str(struct sf_buf *out, uint32_t field, sf_str v)
{
    if (v.len)
        sf_pb_write_str(out, field, v);
}

static void pb_span_id(struct sf_buf *out, uint32_t field, sf_span_id id)
{
    uint8_t raw[8];
    sf_store_u64be(raw, id);
    if (id)
        sf_pb_write_bytes(out, field, (sf_bytes){raw, sizeof(raw)});
}

static void pb_trace_id(struct sf_buf *out, uint32_t field, sf_trace_id id)
{
    sf_pb_write_bytes(out, field, (sf_bytes){id.b, sizeof(id.b)});
}

static void pb_value(struct sf_buf *out, struct sf_value val)
{
    switch (val.type) {
    case SF_VALUE_STR: sf_pb_write_str(out, 1, val.str); break;
    case SF_VALUE_BOOL: sf_pb_write_bool(out, 2, val.is_true); break;
    case SF_VALUE_INT: sf_pb_write_i64(out, 3, val.i64); break;
    case SF_VALUE_DOUBLE: sf_pb_write_double(out, 4, val.f64); break;
    case SF_VALUE_ARRAY: sf_pb_write_str(out, 5, val.str); break;
    case SF_VALUE_KVLIST: sf_pb_write_str(out, 6, val.str); break;
    case SF_VALUE_BYTES: sf_pb_write_str(out, 7, val.str); break;
    default: break;
    }
}

static void pb_attrs(struct sf_buf *out, uint32_t field, struct sf_attrs attrs)
{
    for (uint32_t i = 0; i < attrs.n; i++) {
        size_t kv = sf_pb_write_begin(out, field), any;
        sf_pb_write_str(out, 1, attrs.list[i].key);
        any = sf_pb_write_begin(out, 2);
        pb_value(out, attrs.list[i].val);
        sf_pb_write_end(out, any);
        sf_pb_write_end(out, kv);
    }
}

static void pb_event(struct sf_buf *out, const struct sf_event *ev)
{
    size_t mark = sf_pb_write_begin(out, 11);
    sf_pb_write_fixed64(out, 1, ev->time_ns);
    pb_str(out, 2, ev->name);
    pb_attrs(out, 3, ev->attrs);
    pb_u32(out, 4, ev->dropped_attrs);
    sf_pb_write_end(out, mark);
}

static void pb_link(struct sf_buf *out, const struct sf_link *link)
{
    size_t mark = sf_pb_write_begin(out, 13);
    pb_trace_id(out, 1, link->trace_id);
    pb_span_id(out, 2, link->span_id);
    pb_str(out, 3, link->trace_state);
    pb_attrs(out, 4, link->attrs);
    pb_u32(out, 5, link->dropped_attrs);
    if (link->flags)
        sf_pb_write_fixed32(out, 6, link->flags);
    sf_pb_write_end(out, mark);
}

static void pb_span(struct sf_buf *out, const struct sf_span *s)
{
    size_t mark = sf_pb_write_begin(out, 2), status;
    pb_trace_id(out, 1, s->trace_id);
    pb_span_id(out, 2, s->span_id);
    pb_str(out, 3, s->trace_state);
    pb_span_id(out, 4, s->parent_id);
    pb_str(out, 5, s->name);
    pb_u32(out, 6, s->kind);
    sf_pb_write_fixed64(out, 7, s->start_ns);
    sf_pb_write_fixed64(out, 8, s->end_ns);
    pb_attrs(out, 9, s->attrs);
    pb_u32(out, 10, s->dropped_attrs);
    for (uint32_t i = 0; i < s->n_events; i++)
        pb_event(out, &s->events[i]);
    pb_u32(out, 12, s->dropped_events);
    for (uint32_t i = 0; i < s->n_links; i++)
        pb_link(out, &s->links[i]);
    pb_u32(out, 14, s->dropped_links);
    status = sf_pb_write_begin(out, 15);
    pb_str(out, 2, s->status_msg);
    pb_u32(out, 3, s->status);
    sf_pb_write_end(out, status);
    if (s->flags)
        sf_pb_write_fixed32(out, 16, s->flags);
    sf_pb_write_end(out, mark);
}

static uint32_t pb_scope_spans(const struct sf_span_batch *b, uint32_t i, struct sf_buf *out)
{
    const struct sf_span *first = &b->spans[i];
    const struct sf_scope *sc = &b->scopes[first->scope];
    size_t mark = sf_pb_write_begin(out, 2), scope = sf_pb_write_begin(out, 1);
    pb_str(out, 1, sc->name);
    pb_str(out, 2, sc->version);
    pb_attrs(out, 3, sc->attrs);
    pb_u32(out, 4, sc->dropped_attrs);
    sf_pb_write_end(out, scope);
    for (; i < b->n_spans && b->spans[i].scope == first->scope &&
           b->spans[i].resource == first->resource;
         i++)
        pb_span(out, &b->spans[i]);
    pb_str(out, 3, sc->schema_url);
    sf_pb_write_end(out, mark);
    return i;
}

void sf_otlp_make_pb(const struct sf_span_batch *b, struct sf_buf *out)
{
    uint32_t i = 0;
    while (i < b->n_spans) {
        uint32_t resource = b->spans[i].resource;
        const struct sf_resource *r = &b->resources[resource];
        size_t mark = sf_pb_write_begin(out, 1), inner = sf_pb_write_begin(out, 1);
        pb_attrs(out, 1, r->attrs);
        pb_u32(out, 2, r->dropped_attrs);
        sf_pb_write_end(out, inner);
        while (i < b->n_spans && b->spans[i].resource == resource)
            i = pb_scope_spans(b, i, out);
        pb_str(out, 3, r->schema_url);
        sf_pb_write_end(out, mark);
    }
}

static void js_key_str(struct sf_json_writer *w, sf_str key, sf_str v)
{
    if (v.len)
        sf_json_write_key_str(w, key, v);
}

static void js_key_u32(struct sf_json_writer *w, sf_str key, uint32_t v)
{
    if (v)
        sf_json_write_key_u64(w, key, v);
}

static void js_key_id(struct sf_json_writer *w, sf_str key, sf_span_id id)
{
    uint8_t raw[8];
    sf_store_u64be(raw, id);
    if (!id)
        return;
    sf_json_write_key(w, key);
    sf_json_write_hex(w, (sf_bytes){raw, sizeof(raw)});
}

static void js_key_trace_id(struct sf_json_writer *w, sf_trace_id id)
{
    sf_json_write_key(w, SF_STR("traceId"));
    sf_json_write_hex(w, (sf_bytes){id.b, sizeof(id.b)});
}

static void js_key_time(struct sf_json_writer *w, sf_str key, uint64_t ns)
{
    sf_json_write_key(w, key);
    sf_json_write_u64_text(w, ns);
}

static void js_any(struct sf_json_writer *w, sf_bytes any);

static void js_key_value(struct sf_json_writer *w, sf_bytes kv)
{
    struct sf_pb pb = sf_pb_init(kv);
    sf_json_write_object(w);
    while (sf_pb_next(&pb)) {
        if (pb.field == 1) {
            sf_json_write_key_str(w, SF_STR("key"), sf_pb_str(&pb));
        } else if (pb.field == 2) {
            sf_json_write_key(w, SF_STR("value"));
            js_any(w, sf_pb_bytes(&pb));
        } else {
            sf_pb_skip(&pb);
        }
    }
    sf_json_write_object_end(w);
}

static void js_list(struct sf_json_writer *w, sf_bytes content, bool is_kvlist)
{
    struct sf_pb pb = sf_pb_init(content);
    sf_json_write_object(w);
    sf_json_write_key(w, SF_STR("values"));
    sf_json_write_array(w);
    while (sf_pb_next(&pb)) {
        if (pb.field == 1 && is_kvlist)
            js_key_value(w, sf_pb_bytes(&pb));
        else if (pb.field == 1)
            js_any(w, sf_pb_bytes(&pb));
        else
            sf_pb_skip(&pb);
    }
    sf_json_write_array_end(w);
    sf_json_write_object_end(w);
}

static void js_value(struct sf_json_writer *w, struct sf_value val)
{
    sf_json_write_object(w);
    switch (val.type) {
    case SF_VALUE_STR: sf_json_write_key_str(w, SF_STR("stringValue"), val.str); break;
    case SF_VALUE_BOOL:
        sf_json_write_key(w, SF_STR("boolValue"));
        sf_json_write_bool(w, val.is_true);
        break;
    case SF_VALUE_INT:
        sf_json_write_key(w, SF_STR("intValue"));
        sf_json_write_i64_text(w, val.i64);
        break;
    case SF_VALUE_DOUBLE:
        sf_json_write_key(w, SF_STR("doubleValue"));
        sf_json_write_f64(w, val.f64);
        break;
    case SF_VALUE_BYTES:
        sf_json_write_key(w, SF_STR("bytesValue"));
        sf_json_write_base64(w, sf_str_bytes(val.str));
        break;
    case SF_VALUE_ARRAY:
        sf_json_write_key(w, SF_STR("arrayValue"));
        js_list(w, sf_str_bytes(val.str), false);
        break;
    case SF_VALUE_KVLIST:
        sf_json_write_key(w, SF_STR("kvlistValue"));
        js_list(w, sf_str_bytes(val.str), true);
        break;
    default: break;
    }
    sf_json_write_object_end(w);
}

static void js_any(struct sf_json_writer *w, sf_bytes any)
{
    struct sf_pb pb = sf_pb_init(any);
    struct sf_value val = {.type = SF_VALUE_EMPTY};
    while (sf_pb_next(&pb)) {
        static const enum sf_value_type types[8] = {
            SF_VALUE_EMPTY,  SF_VALUE_STR,   SF_VALUE_BOOL,   SF_VALUE_INT,
            SF_VALUE_DOUBLE, SF_VALUE_ARRAY, SF_VALUE_KVLIST, SF_VALUE_BYTES};
        val.type = pb.field < 8 ? types[pb.field] : SF_VALUE_EMPTY;
        switch (pb.field) {
        case 2: val.is_true = sf_pb_bool(&pb); break;
        case 3: val.i64 = sf_pb_i64(&pb); break;
        case 4: val.f64 = sf_pb_double(&pb); break;
        default: val.str = sf_pb_str(&pb); break;
        }
    }
    js_value(w, val);
}

static void js_attrs(struct sf_json_writer *w, struct sf_attrs attrs)
{
    if (!attrs.n)
        return;
    sf_json_write_key(w, SF_STR("attributes"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < attrs.n; i++) {
        sf_json_write_object(w);
        sf_json_write_key_str(w, SF_STR("key"), attrs.list[i].key);
        sf_json_write_key(w, SF_STR("value"));
        js_value(w, attrs.list[i].val);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

static void js_events(struct sf_json_writer *w, const struct sf_span *s)
{
    sf_json_write_key(w, SF_STR("events"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < s->n_events; i++) {
        const struct sf_event *ev = &s->events[i];
        sf_json_write_object(w);
        js_key_time(w, SF_STR("timeUnixNano"), ev->time_ns);
        js_key_str(w, SF_STR("name"), ev->name);
        js_attrs(w, ev->attrs);
        js_key_u32(w, SF_STR("droppedAttributesCount"), ev->dropped_attrs);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

static void js_links(struct sf_json_writer *w, const struct sf_span *s)
{
    sf_json_write_key(w, SF_STR("links"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < s->n_links; i++) {
        const struct sf_link *link = &s->links[i];
        sf_json_write_object(w);
        js_key_trace_id(w, link->trace_id);
        js_key_id(w, SF_STR("spanId"), link->span_id);
        js_key_str(w, SF_STR("traceState"), link->trace_state);
        js_attrs(w, link->attrs);
        js_key_u32(w, SF_STR("droppedAttributesCount"), link->dropped_attrs);
        js_key_u32(w, SF_STR("flags"), link->flags);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

static void js_span(struct sf_json_writer *w, const struct sf_span *s)
{
    sf_json_write_object(w);
    js_key_trace_id(w, s->trace_id);
    js_key_id(w, SF_STR("spanId"), s->span_id);
    js_key_str(w, SF_STR("traceState"), s->trace_state);
    js_key_id(w, SF_STR("parentSpanId"), s->parent_id);
    js_key_u32(w, SF_STR("flags"), s->flags);
    js_key_str(w, SF_STR("name"), s->name);
    js_key_u32(w, SF_STR("kind"), s->kind);
    js_key_time(w, SF_STR("startTimeUnixNano"), s->start_ns);
    js_key_time(w, SF_STR("endTimeUnixNano"), s->end_ns);
    js_attrs(w, s->attrs);
    js_key_u32(w, SF_STR("droppedAttributesCount"), s->dropped_attrs);
    if (s->n_events)
        js_events(w, s);
    js_key_u32(w, SF_STR("droppedEventsCount"), s->dropped_events);
    if (s->n_links)
        js_links(w, s);
    js_key_u32(w, SF_STR("droppedLinksCount"), s->dropped_links);
    sf_json_write_key(w, SF_STR("status"));
    sf_json_write_object(w);
    js_key_str(w, SF_STR("message"), s->status_msg);
    js_key_u32(w, SF_STR("code"), s->status);
    sf_json_write_object_end(w);
    sf_json_write_object_end(w);
}

static uint32_t js_scope_spans(const struct sf_span_batch *b, uint32_t i, struct sf_json_writer *w)
{
    const struct sf_span *first = &b->spans[i];
    const struct sf_scope *sc = &b->scopes[first->scope];
    sf_json_write_object(w);
    sf_json_write_key(w, SF_STR("scope"));
    sf_json_write_object(w);
    js_key_str(w, SF_STR("name"), sc->name);
    js_key_str(w, SF_STR("version"), sc->version);
    js_attrs(w, sc->attrs);
    js_key_u32(w, SF_STR("droppedAttributesCount"), sc->dropped_attrs);
    sf_json_write_object_end(w);
    sf_json_write_key(w, SF_STR("spans"));
    sf_json_write_array(w);
    for (; i < b->n_spans && b->spans[i].scope == first->scope &&
           b->spans[i].resource == first->resource;
         i++)
        js_span(w, &b->spans[i]);
    sf_json_write_array_end(w);
    js_key_str(w, SF_STR("schemaUrl"), sc->schema_url);
    sf_json_write_object_end(w);
    return i;
}

void sf_otlp_make_json(const struct sf_span_batch *b, struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    uint32_t i = 0;
    sf_json_write_object(&w);
    sf_json_write_key(&w, SF_STR("resourceSpans"));
    sf_json_write_array(&w);
    while (i < b->n_spans) {
        uint32_t resource = b->spans[i].resource;
        const struct sf_resource *r = &b->resources[resource];
        sf_json_write_object(&w);
        sf_json_write_key(&w, SF_STR("resource"));
        sf_json_write_object(&w);
        js_attrs(&w, r->attrs);
        js_key_u32(&w, SF_STR("droppedAttributesCount"), r->dropped_attrs);
        sf_json_write_object_end(&w);
        sf_json_write_key(&w, SF_STR("scopeSpans"));
        sf_json_write_array(&w);
        while (i < b->n_spans && b->spans[i].resource == resource)
            i = js_scope_spans(b, i, &w);
        sf_json_write_array_end(&w);
        js_key_str(&w, SF_STR("schemaUrl"), r->schema_url);
        sf_json_write_object_end(&w);
    }
    sf_json_write_array_end(&w);
    sf_json_write_object_end(&w);
}
