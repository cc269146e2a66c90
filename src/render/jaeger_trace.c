#include "render/jaeger_trace.h"

#include <stdio.h>
#include <string.h>

#include "model/value_list.h"

sf_str sf_jaeger_trace_id(sf_trace_id id, char text[33])
{
    static const uint8_t zeros[8];
    sf_trace_id_render(id, text);
    return memcmp(id.b, zeros, sizeof(zeros)) ? (sf_str){text, 32} : (sf_str){text + 16, 16};
}

const char *sf_jaeger_trace_kind(uint8_t kind)
{
    static const char *const names[SF_KINDS] = {"",       "internal", "server",
                                                "client", "producer", "consumer"};
    return kind < SF_KINDS ? names[kind] : "";
}

/* ---- tags ---- */

/* Writes lists as JSON text, because Jaeger's tags are flat. The decoder has limited the depth. */
static void plain_json(struct sf_json_writer *w, struct sf_value v)
{
    struct sf_value_list list;
    struct sf_attr item;
    switch (v.type) {
    case SF_VALUE_STR: sf_json_write_str(w, v.str); break;
    case SF_VALUE_BOOL: sf_json_write_bool(w, v.is_true); break;
    case SF_VALUE_INT: sf_json_write_i64(w, v.i64); break;
    case SF_VALUE_DOUBLE: sf_json_write_f64(w, v.f64); break;
    case SF_VALUE_BYTES: sf_json_write_base64(w, sf_str_bytes(v.str)); break;
    case SF_VALUE_ARRAY:
        list = sf_value_list_init(v);
        sf_json_write_array(w);
        while (sf_value_list_next(&list, &item))
            plain_json(w, item.val);
        sf_json_write_array_end(w);
        break;
    case SF_VALUE_KVLIST:
        list = sf_value_list_init(v);
        sf_json_write_object(w);
        while (sf_value_list_next(&list, &item)) {
            sf_json_write_key(w, item.key);
            plain_json(w, item.val);
        }
        sf_json_write_object_end(w);
        break;
    default: sf_json_write_null(w); break;
    }
}

static void jaeger_trace_list_text(struct sf_json_writer *w, struct sf_value v)
{
    struct sf_buf text = {0};
    struct sf_json_writer inner = sf_json_writer_init(&text);
    plain_json(&inner, v);
    sf_json_write_str(w, sf_buf_str(&text));
    if (text.err && !w->out->err)
        w->out->err = text.err;
    sf_buf_done(&text);
}

static const char *jaeger_trace_type_of(enum sf_value_type type)
{
    switch (type) {
    case SF_VALUE_BOOL: return "bool";
    case SF_VALUE_INT: return "int64";
    case SF_VALUE_DOUBLE: return "float64";
    case SF_VALUE_BYTES: return "binary";
    default: return "string";
    }
}

static void tag(struct sf_json_writer *w, sf_str key, struct sf_value v)
{
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("key"), key);
    sf_json_write_key_str(w, SF_STR("type"), sf_str_from(jaeger_trace_type_of(v.type)));
    sf_json_write_key(w, SF_STR("value"));
    if (v.type == SF_VALUE_ARRAY || v.type == SF_VALUE_KVLIST)
        jaeger_trace_list_text(w, v);
    else if (v.type == SF_VALUE_EMPTY || v.type == SF_VALUE_NONE)
        sf_json_write_str(w, SF_STR_NONE);
    else
        plain_json(w, v);
    sf_json_write_object_end(w);
}

static void tag_str(struct sf_json_writer *w, sf_str key, sf_str val)
{
    if (val.len)
        tag(w, key, (struct sf_value){SF_VALUE_STR, {.str = val}});
}

static void attr_tags(struct sf_json_writer *w, struct sf_attrs attrs)
{
    for (uint32_t i = 0; i < attrs.n; i++)
        tag(w, attrs.list[i].key, attrs.list[i].val);
}

static void span_tags(struct sf_json_writer *w, const struct sf_span *s,
                      const struct sf_scope *scope)
{
    sf_json_write_key(w, SF_STR("tags"));
    sf_json_write_array(w);
    tag_str(w, SF_STR("otel.scope.name"), scope->name);
    tag_str(w, SF_STR("otel.scope.version"), scope->version);
    attr_tags(w, s->attrs);
    tag_str(w, SF_STR("span.kind"), sf_str_from(sf_jaeger_trace_kind(s->kind)));
    if (s->status == SF_STATUS_OK)
        tag_str(w, SF_STR("otel.status_code"), SF_STR("OK"));
    if (s->status == SF_STATUS_ERROR) {
        tag_str(w, SF_STR("otel.status_code"), SF_STR("ERROR"));
        tag(w, SF_STR("error"), (struct sf_value){SF_VALUE_BOOL, {.is_true = true}});
    }
    tag_str(w, SF_STR("otel.status_description"), s->status_msg);
    tag_str(w, SF_STR("w3c.tracestate"), s->trace_state);
    sf_json_write_array_end(w);
}

/* ---- spans ---- */

static void reference(struct sf_json_writer *w, const char *type, sf_trace_id trace, sf_span_id id)
{
    char text[33];
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("refType"), sf_str_from(type));
    sf_json_write_key_str(w, SF_STR("traceID"), sf_jaeger_trace_id(trace, text));
    sf_span_id_render(id, text);
    sf_json_write_key_str(w, SF_STR("spanID"), (sf_str){text, 16});
    sf_json_write_object_end(w);
}

static void references(struct sf_json_writer *w, const struct sf_span *s)
{
    sf_json_write_key(w, SF_STR("references"));
    sf_json_write_array(w);
    if (s->parent_id)
        reference(w, "CHILD_OF", s->trace_id, s->parent_id);
    for (uint32_t i = 0; i < s->n_links; i++)
        reference(w, "FOLLOWS_FROM", s->links[i].trace_id, s->links[i].span_id);
    sf_json_write_array_end(w);
}

static void logs(struct sf_json_writer *w, const struct sf_span *s)
{
    sf_json_write_key(w, SF_STR("logs"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < s->n_events; i++) {
        const struct sf_event *ev = &s->events[i];
        sf_json_write_object(w);
        sf_json_write_key_u64(w, SF_STR("timestamp"), ev->time_ns / 1000);
        sf_json_write_key(w, SF_STR("fields"));
        sf_json_write_array(w);
        tag_str(w, SF_STR("event"), ev->name);
        attr_tags(w, ev->attrs);
        sf_json_write_array_end(w);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
}

static void process_name(uint32_t resource, char out[16])
{
    (void)snprintf(out, 16, "p%u", resource + 1);
}

static void jaeger_trace_span(struct sf_json_writer *w, const struct sf_span *s,
                              const struct sf_scope *scope)
{
    char text[33], process[16];
    process_name(s->resource, process);
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("traceID"), sf_jaeger_trace_id(s->trace_id, text));
    sf_span_id_render(s->span_id, text);
    sf_json_write_key_str(w, SF_STR("spanID"), (sf_str){text, 16});
    sf_json_write_key_u64(w, SF_STR("flags"), s->flags & 0xff);
    sf_json_write_key_str(w, SF_STR("operationName"), s->name);
    references(w, s);
    sf_json_write_key_u64(w, SF_STR("startTime"), s->start_ns / 1000);
    sf_json_write_key_u64(w, SF_STR("duration"), sf_span_duration_ns(s) / 1000);
    span_tags(w, s, scope);
    logs(w, s);
    sf_json_write_key_str(w, SF_STR("processID"), sf_str_from(process));
    sf_json_write_key(w, SF_STR("warnings"));
    sf_json_write_null(w);
    sf_json_write_object_end(w);
}

static void processes(struct sf_json_writer *w, const struct sf_span_batch *b)
{
    sf_json_write_key(w, SF_STR("processes"));
    sf_json_write_object(w);
    for (uint32_t i = 0; i < b->n_resources; i++) {
        const struct sf_resource *r = &b->resources[i];
        char name[16];
        process_name(i, name);
        sf_json_write_key(w, sf_str_from(name));
        sf_json_write_object(w);
        sf_json_write_key_str(w, SF_STR("serviceName"), r->service);
        sf_json_write_key(w, SF_STR("tags"));
        sf_json_write_array(w);
        for (uint32_t k = 0; k < r->attrs.n; k++) {
            if (!sf_str_eq(r->attrs.list[k].key, SF_STR("service.name")))
                tag(w, r->attrs.list[k].key, r->attrs.list[k].val);
        }
        sf_json_write_array_end(w);
        sf_json_write_object_end(w);
    }
    sf_json_write_object_end(w);
}

void sf_jaeger_trace_json(const struct sf_span_batch *b, sf_str warning, struct sf_json_writer *w)
{
    char id[33];
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("traceID"),
                          b->n_spans ? sf_jaeger_trace_id(b->spans[0].trace_id, id) : SF_STR_NONE);
    sf_json_write_key(w, SF_STR("spans"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < b->n_spans; i++)
        jaeger_trace_span(w, &b->spans[i], &b->scopes[b->spans[i].scope]);
    sf_json_write_array_end(w);
    processes(w, b);
    sf_json_write_key(w, SF_STR("warnings"));
    if (warning.len) {
        sf_json_write_array(w);
        sf_json_write_str(w, warning);
        sf_json_write_array_end(w);
    } else {
        sf_json_write_null(w);
    }
    sf_json_write_object_end(w);
}
