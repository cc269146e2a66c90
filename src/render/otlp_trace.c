/* otlp_trace.c - writes a trace as OTLP protobuf, OTLP JSON or Tempo's JSON. Spans arrive grouped
 * by resource and scope; each group becomes one message. Tempo's JSON differs in ids (base64) and
 * enumerations, so the JSON writers take the form as a parameter. */
#include "render/otlp_trace.h"

#include "base/num.h"
#include "render/otlp_value.h"
#include "wire/json_write.h"
#include "wire/pb_write.h"

/* The index after the last span of the group that begins at `at`; by resource alone or with
 * scope. */
static uint32_t group_end(const struct sf_span_batch *b, uint32_t at, bool is_by_scope)
{
    uint32_t end = at + 1;
    while (end < b->n_spans && b->spans[end].resource == b->spans[at].resource &&
           (!is_by_scope || b->spans[end].scope == b->spans[at].scope))
        end++;
    return end;
}

static const struct sf_attr *service_attr(const struct sf_resource *r, struct sf_attr *room)
{
    *room = (struct sf_attr){SF_STR("service.name"), {SF_VALUE_STR, {.str = r->service}}};
    return room;
}

static struct sf_attrs resource_attrs(const struct sf_resource *r, struct sf_attr *room)
{
    return r->attrs.n ? r->attrs : (struct sf_attrs){service_attr(r, room), 1};
}

/* ---- protobuf ---- */

static void otlp_trace_count_pb(struct sf_buf *out, uint32_t field, uint32_t n)
{
    if (n)
        sf_pb_write_u64(out, field, n);
}

static void str_pb(struct sf_buf *out, uint32_t field, sf_str s)
{
    if (s.len)
        sf_pb_write_str(out, field, s);
}

static void span_id_pb(struct sf_buf *out, uint32_t field, sf_span_id id)
{
    uint8_t b[8];
    sf_store_u64be(b, id);
    sf_pb_write_bytes(out, field, (sf_bytes){b, 8});
}

static void trace_id_pb(struct sf_buf *out, uint32_t field, sf_trace_id id)
{
    sf_pb_write_bytes(out, field, (sf_bytes){id.b, 16});
}

static void event_pb(struct sf_buf *out, const struct sf_event *ev)
{
    size_t mark = sf_pb_write_begin(out, 11);
    sf_pb_write_fixed64(out, 1, ev->time_ns);
    str_pb(out, 2, ev->name);
    sf_otlp_value_attrs_pb(out, 3, ev->attrs);
    otlp_trace_count_pb(out, 4, ev->dropped_attrs);
    sf_pb_write_end(out, mark);
}

static void link_pb(struct sf_buf *out, const struct sf_link *l)
{
    size_t mark = sf_pb_write_begin(out, 13);
    trace_id_pb(out, 1, l->trace_id);
    span_id_pb(out, 2, l->span_id);
    str_pb(out, 3, l->trace_state);
    sf_otlp_value_attrs_pb(out, 4, l->attrs);
    otlp_trace_count_pb(out, 5, l->dropped_attrs);
    if (l->flags)
        sf_pb_write_fixed32(out, 6, l->flags);
    sf_pb_write_end(out, mark);
}

static void span_pb(struct sf_buf *out, const struct sf_span *s)
{
    size_t mark = sf_pb_write_begin(out, 2);
    trace_id_pb(out, 1, s->trace_id);
    span_id_pb(out, 2, s->span_id);
    str_pb(out, 3, s->trace_state);
    if (s->parent_id)
        span_id_pb(out, 4, s->parent_id);
    str_pb(out, 5, s->name);
    otlp_trace_count_pb(out, 6, s->kind);
    sf_pb_write_fixed64(out, 7, s->start_ns);
    sf_pb_write_fixed64(out, 8, s->end_ns);
    sf_otlp_value_attrs_pb(out, 9, s->attrs);
    otlp_trace_count_pb(out, 10, s->dropped_attrs);
    for (uint32_t i = 0; i < s->n_events; i++)
        event_pb(out, &s->events[i]);
    otlp_trace_count_pb(out, 12, s->dropped_events);
    for (uint32_t i = 0; i < s->n_links; i++)
        link_pb(out, &s->links[i]);
    otlp_trace_count_pb(out, 14, s->dropped_links);
    size_t status = sf_pb_write_begin(out, 15);
    str_pb(out, 2, s->status_msg);
    otlp_trace_count_pb(out, 3, s->status);
    sf_pb_write_end(out, status);
    if (s->flags)
        sf_pb_write_fixed32(out, 16, s->flags);
    sf_pb_write_end(out, mark);
}

static void scope_spans_pb(struct sf_buf *out, const struct sf_span_batch *b, uint32_t at,
                           uint32_t end)
{
    const struct sf_scope *scope = &b->scopes[b->spans[at].scope];
    size_t mark = sf_pb_write_begin(out, 2);
    size_t inner = sf_pb_write_begin(out, 1);
    str_pb(out, 1, scope->name);
    str_pb(out, 2, scope->version);
    sf_otlp_value_attrs_pb(out, 3, scope->attrs);
    otlp_trace_count_pb(out, 4, scope->dropped_attrs);
    sf_pb_write_end(out, inner);
    for (uint32_t i = at; i < end; i++)
        span_pb(out, &b->spans[i]);
    str_pb(out, 3, scope->schema_url);
    sf_pb_write_end(out, mark);
}

static void resource_spans_pb(struct sf_buf *out, const struct sf_span_batch *b, uint32_t at,
                              uint32_t end)
{
    const struct sf_resource *r = &b->resources[b->spans[at].resource];
    struct sf_attr room;
    size_t mark = sf_pb_write_begin(out, 1);
    size_t inner = sf_pb_write_begin(out, 1);
    sf_otlp_value_attrs_pb(out, 1, resource_attrs(r, &room));
    otlp_trace_count_pb(out, 2, r->dropped_attrs);
    sf_pb_write_end(out, inner);
    while (at < end) {
        uint32_t next = group_end(b, at, true);
        scope_spans_pb(out, b, at, next);
        at = next;
    }
    str_pb(out, 3, r->schema_url);
    sf_pb_write_end(out, mark);
}

void sf_otlp_trace_pb(const struct sf_otlp_trace *t, struct sf_buf *out)
{
    size_t mark = t->is_v2 ? sf_pb_write_begin(out, 1) : 0;
    for (uint32_t at = 0, end; at < t->spans->n_spans; at = end) {
        end = group_end(t->spans, at, false);
        resource_spans_pb(out, t->spans, at, end);
    }
    if (!t->is_v2)
        return;
    sf_pb_write_end(out, mark);
    mark = sf_pb_write_begin(out, 2);
    if (t->inspected_len)
        sf_pb_write_u64(out, 1, t->inspected_len);
    sf_pb_write_end(out, mark);
    if (t->partial.len) {
        sf_pb_write_u64(out, 3, 1);
        sf_pb_write_str(out, 4, t->partial);
    }
}

/* ---- JSON ---- */

static void str_json(struct sf_json_writer *w, sf_str key, sf_str s)
{
    if (s.len)
        sf_json_write_key_str(w, key, s);
}

static void otlp_trace_count_json(struct sf_json_writer *w, sf_str key, uint32_t n)
{
    if (n)
        sf_json_write_key_u64(w, key, n);
}

static void u64_json(struct sf_json_writer *w, sf_str key, uint64_t v)
{
    if (!v)
        return;
    sf_json_write_key(w, key);
    sf_json_write_u64_text(w, v);
}

static void attrs_json(struct sf_json_writer *w, struct sf_attrs attrs)
{
    if (!attrs.n)
        return;
    sf_json_write_key(w, SF_STR("attributes"));
    sf_otlp_value_attrs_json(w, attrs);
}

/* Tempo's JSON follows protobuf's rules exactly; OTLP's has exceptions. */
enum json_form { TEMPO, OTLP };

static void id_json(struct sf_json_writer *w, enum json_form form, sf_str key, sf_bytes id)
{
    sf_json_write_key(w, key);
    if (form == OTLP)
        sf_json_write_hex(w, id);
    else
        sf_json_write_base64(w, id);
}

static void enum_json(struct sf_json_writer *w, enum json_form form, sf_str key, uint8_t v,
                      const char *name)
{
    if (v && form == OTLP)
        sf_json_write_key_u64(w, key, v);
    else if (v)
        sf_json_write_key_str(w, key, sf_str_from(name));
}

static void trace_id_json(struct sf_json_writer *w, enum json_form form, sf_trace_id id)
{
    id_json(w, form, SF_STR("traceId"), (sf_bytes){id.b, 16});
}

static void span_id_json(struct sf_json_writer *w, enum json_form form, sf_str key, sf_span_id id)
{
    uint8_t b[8];
    sf_store_u64be(b, id);
    id_json(w, form, key, (sf_bytes){b, 8});
}

static void events_json(struct sf_json_writer *w, const struct sf_span *s)
{
    if (!s->n_events)
        return;
    sf_json_write_key(w, SF_STR("events"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < s->n_events; i++) {
        const struct sf_event *ev = &s->events[i];
        sf_json_write_object(w);
        u64_json(w, SF_STR("timeUnixNano"), ev->time_ns);
        str_json(w, SF_STR("name"), ev->name);
        attrs_json(w, ev->attrs);
        otlp_trace_count_json(w, SF_STR("droppedAttributesCount"), ev->dropped_attrs);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

static void links_json(struct sf_json_writer *w, enum json_form form, const struct sf_span *s)
{
    if (!s->n_links)
        return;
    sf_json_write_key(w, SF_STR("links"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < s->n_links; i++) {
        const struct sf_link *l = &s->links[i];
        sf_json_write_object(w);
        trace_id_json(w, form, l->trace_id);
        span_id_json(w, form, SF_STR("spanId"), l->span_id);
        str_json(w, SF_STR("traceState"), l->trace_state);
        attrs_json(w, l->attrs);
        otlp_trace_count_json(w, SF_STR("droppedAttributesCount"), l->dropped_attrs);
        otlp_trace_count_json(w, SF_STR("flags"), l->flags);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

static void span_json(struct sf_json_writer *w, enum json_form form, const struct sf_span *s)
{
    sf_json_write_object(w);
    trace_id_json(w, form, s->trace_id);
    span_id_json(w, form, SF_STR("spanId"), s->span_id);
    str_json(w, SF_STR("traceState"), s->trace_state);
    if (s->parent_id)
        span_id_json(w, form, SF_STR("parentSpanId"), s->parent_id);
    str_json(w, SF_STR("name"), s->name);
    enum_json(w, form, SF_STR("kind"), s->kind, sf_span_kind_name(s->kind));
    u64_json(w, SF_STR("startTimeUnixNano"), s->start_ns);
    u64_json(w, SF_STR("endTimeUnixNano"), s->end_ns);
    attrs_json(w, s->attrs);
    otlp_trace_count_json(w, SF_STR("droppedAttributesCount"), s->dropped_attrs);
    events_json(w, s);
    otlp_trace_count_json(w, SF_STR("droppedEventsCount"), s->dropped_events);
    links_json(w, form, s);
    otlp_trace_count_json(w, SF_STR("droppedLinksCount"), s->dropped_links);
    sf_json_write_key(w, SF_STR("status"));
    sf_json_write_object(w);
    str_json(w, SF_STR("message"), s->status_msg);
    enum_json(w, form, SF_STR("code"), s->status, sf_span_status_name(s->status));
    sf_json_write_object_end(w);
    otlp_trace_count_json(w, SF_STR("flags"), s->flags);
    sf_json_write_object_end(w);
}

static void scope_spans_json(struct sf_json_writer *w, enum json_form form,
                             const struct sf_span_batch *b, uint32_t at, uint32_t end)
{
    const struct sf_scope *scope = &b->scopes[b->spans[at].scope];
    sf_json_write_object(w);
    sf_json_write_key(w, SF_STR("scope"));
    sf_json_write_object(w);
    str_json(w, SF_STR("name"), scope->name);
    str_json(w, SF_STR("version"), scope->version);
    attrs_json(w, scope->attrs);
    otlp_trace_count_json(w, SF_STR("droppedAttributesCount"), scope->dropped_attrs);
    sf_json_write_object_end(w);
    sf_json_write_key(w, SF_STR("spans"));
    sf_json_write_array(w);
    for (uint32_t i = at; i < end; i++)
        span_json(w, form, &b->spans[i]);
    sf_json_write_array_end(w);
    str_json(w, SF_STR("schemaUrl"), scope->schema_url);
    sf_json_write_object_end(w);
}

static void resource_spans_json(struct sf_json_writer *w, enum json_form form,
                                const struct sf_span_batch *b, uint32_t at, uint32_t end)
{
    const struct sf_resource *r = &b->resources[b->spans[at].resource];
    struct sf_attr room;
    sf_json_write_object(w);
    sf_json_write_key(w, SF_STR("resource"));
    sf_json_write_object(w);
    attrs_json(w, resource_attrs(r, &room));
    otlp_trace_count_json(w, SF_STR("droppedAttributesCount"), r->dropped_attrs);
    sf_json_write_object_end(w);
    sf_json_write_key(w, SF_STR("scopeSpans"));
    sf_json_write_array(w);
    while (at < end) {
        uint32_t next = group_end(b, at, true);
        scope_spans_json(w, form, b, at, next);
        at = next;
    }
    sf_json_write_array_end(w);
    str_json(w, SF_STR("schemaUrl"), r->schema_url);
    sf_json_write_object_end(w);
}

static void groups_json(struct sf_json_writer *w, enum json_form form,
                        const struct sf_span_batch *b)
{
    for (uint32_t at = 0, end; at < b->n_spans; at = end) {
        end = group_end(b, at, false);
        resource_spans_json(w, form, b, at, end);
    }
}

void sf_otlp_trace_resource_spans_json(const struct sf_span_batch *b, struct sf_json_writer *w)
{
    groups_json(w, OTLP, b);
}

static void batches_json(struct sf_json_writer *w, sf_str key, const struct sf_span_batch *b)
{
    sf_json_write_object(w);
    if (b->n_spans) {
        sf_json_write_key(w, key);
        sf_json_write_array(w);
        groups_json(w, TEMPO, b);
        sf_json_write_array_end(w);
    }
    sf_json_write_object_end(w);
}

void sf_otlp_trace_json(const struct sf_otlp_trace *t, struct sf_buf *out)
{
    struct sf_json_writer w = sf_json_writer_init(out);
    if (!t->is_v2) {
        batches_json(&w, SF_STR("batches"), t->spans);
        return;
    }
    sf_json_write_object(&w);
    sf_json_write_key(&w, SF_STR("trace"));
    batches_json(&w, SF_STR("resourceSpans"), t->spans);
    sf_json_write_key(&w, SF_STR("metrics"));
    sf_json_write_object(&w);
    u64_json(&w, SF_STR("inspectedBytes"), t->inspected_len);
    sf_json_write_object_end(&w);
    if (t->partial.len) {
        sf_json_write_key_str(&w, SF_STR("status"), SF_STR("PARTIAL"));
        sf_json_write_key_str(&w, SF_STR("message"), t->partial);
    }
    sf_json_write_object_end(&w);
}
