/* eval_attr.c - the value of an attribute or intrinsic on one span. */
#include "exec/eval_attr.h"
#include "base/num.h"

#include "base/text.h"
#include "exec/profile_conds.h"
#include "model/value_list.h"

static struct sf_static eval_attr_nil(void)
{
    return (struct sf_static){.type = SF_TYPE_NIL};
}

static struct sf_static string(sf_str s)
{
    return (struct sf_static){SF_TYPE_STRING, {.str = s}};
}

static struct sf_static eval_attr_number(enum sf_static_type type, int64_t i64)
{
    return (struct sf_static){type, {.i64 = i64}};
}

struct sf_static sf_eval_attr_static_from_value(struct sf_value v)
{
    switch (v.type) {
    case SF_VALUE_STR: return string(v.str);
    case SF_VALUE_BOOL: return (struct sf_static){SF_TYPE_BOOL, {.is_true = v.is_true}};
    case SF_VALUE_INT: return eval_attr_number(SF_TYPE_INT, v.i64);
    case SF_VALUE_DOUBLE: return (struct sf_static){SF_TYPE_FLOAT, {.f64 = v.f64}};
    default: return eval_attr_nil();
    }
}

static int64_t clamp(uint64_t ns)
{
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static struct sf_static hex_id(sf_span_id id, char *text)
{
    sf_span_id_render(id, text);
    return string((sf_str){text, 16});
}

static struct sf_static trace_hex(sf_trace_id id, char *text)
{
    size_t zeros = 0;
    sf_trace_id_render(id, text);
    while (zeros < 31 && text[zeros] == '0')
        zeros++;
    return string((sf_str){text + zeros, 32 - zeros});
}

static struct sf_static eval_attr_root_name(const struct sf_trace_view *v)
{
    return string(v->root == SF_VIEW_NONE ? SF_STR("") : v->spans[v->root].name);
}

static struct sf_static root_service(const struct sf_trace_view *v)
{
    return string(v->root == SF_VIEW_NONE ? SF_STR("")
                                          : v->resources[v->spans[v->root].resource].service);
}

static struct sf_static nested_parent(const struct sf_trace_view *v, uint32_t span)
{
    uint32_t parent = v->parent[span];
    if (v->left[span] == 0)
        return eval_attr_number(SF_TYPE_INT, 0);
    return eval_attr_number(SF_TYPE_INT, parent == SF_VIEW_NONE ? -1 : (int64_t)v->left[parent]);
}

/* Frames have no value and can only be compared; but a span may have some or none. */
static struct sf_static profile_value(enum sf_intrinsic which, const struct sf_trace_view *v,
                                      uint32_t span)
{
    int64_t value;
    if (!sf_profile_conds_value(v->profiles, which, span, &value))
        return eval_attr_nil();
    if (which == SF_INTRINSIC_PROFILE_FRAME)
        return string(SF_STR(""));
    return eval_attr_number(which == SF_INTRINSIC_PROFILE_ALLOC ? SF_TYPE_INT : SF_TYPE_DURATION,
                            value);
}

static struct sf_static intrinsic(enum sf_intrinsic which, const struct sf_trace_view *v,
                                  uint32_t span, char text[SF_EVAL_TEXT_LEN])
{
    const struct sf_span *s = &v->spans[span];
    switch (which) {
    case SF_INTRINSIC_NAME: return string(s->name);
    case SF_INTRINSIC_DURATION:
        return eval_attr_number(SF_TYPE_DURATION, clamp(sf_span_duration_ns(s)));
    case SF_INTRINSIC_STATUS: return eval_attr_number(SF_TYPE_STATUS, s->status);
    case SF_INTRINSIC_STATUS_MESSAGE: return string(s->status_msg);
    case SF_INTRINSIC_KIND: return eval_attr_number(SF_TYPE_KIND, s->kind);
    case SF_INTRINSIC_SPAN_ID: return hex_id(s->span_id, text);
    case SF_INTRINSIC_PARENT_ID: return s->parent_id ? hex_id(s->parent_id, text) : eval_attr_nil();
    case SF_INTRINSIC_CHILD_COUNT: return eval_attr_number(SF_TYPE_INT, v->n_children[span]);
    case SF_INTRINSIC_TRACE_DURATION:
        return eval_attr_number(SF_TYPE_DURATION, sf_trace_view_duration_ns(v));
    case SF_INTRINSIC_ROOT_NAME: return eval_attr_root_name(v);
    case SF_INTRINSIC_ROOT_SERVICE: return root_service(v);
    case SF_INTRINSIC_TRACE_ID: return trace_hex(v->id, text);
    case SF_INTRINSIC_SCOPE_NAME: return string(v->scopes[s->scope].name);
    case SF_INTRINSIC_SCOPE_VERSION: return string(v->scopes[s->scope].version);
    case SF_INTRINSIC_NESTED_LEFT: return eval_attr_number(SF_TYPE_INT, v->left[span]);
    case SF_INTRINSIC_NESTED_RIGHT: return eval_attr_number(SF_TYPE_INT, v->right[span]);
    case SF_INTRINSIC_NESTED_PARENT: return nested_parent(v, span);
    case SF_INTRINSIC_PROFILE_FRAME:
    case SF_INTRINSIC_PROFILE_CPU:
    case SF_INTRINSIC_PROFILE_WALL:
    case SF_INTRINSIC_PROFILE_LOCK:
    case SF_INTRINSIC_PROFILE_BLOCK:
    case SF_INTRINSIC_PROFILE_OFF_CPU:
    case SF_INTRINSIC_PROFILE_ALLOC: return profile_value(which, v, span);
    default: return eval_attr_nil(); /* events and links have many values */
    }
}

/* ---- attributes ---- */

static bool eval_attr_is_scalar(enum sf_value_type t)
{
    return t == SF_VALUE_STR || t == SF_VALUE_BOOL || t == SF_VALUE_INT || t == SF_VALUE_DOUBLE;
}

/* An array of one scalar type is visible; a mixed one is treated as missing. */
static bool is_visible_array(struct sf_value val)
{
    struct sf_value_list list = sf_value_list_init(val);
    struct sf_attr element;
    enum sf_value_type type = SF_VALUE_NONE;
    if (val.type != SF_VALUE_ARRAY)
        return false;
    while (sf_value_list_next(&list, &element)) {
        if (!eval_attr_is_scalar(element.val.type) ||
            (type != SF_VALUE_NONE && element.val.type != type))
            return false;
        type = element.val.type;
    }
    return true;
}

static bool is_visible(struct sf_value val)
{
    return eval_attr_is_scalar(val.type) || is_visible_array(val);
}

static struct sf_value resource_value(const struct sf_resource *r, sf_str name)
{
    struct sf_value val = sf_attrs_get(r->attrs, name);
    /* service.name is never missing: senders without one are "unknown_service". */
    if (!is_visible(val) && sf_str_eq(name, SF_STR("service.name")))
        val = (struct sf_value){.type = SF_VALUE_STR, .str = r->service};
    return val;
}

static struct sf_value plain_value(const struct sf_query_attr *a, const struct sf_trace_view *v,
                                   uint32_t span)
{
    const struct sf_span *s = &v->spans[span];
    struct sf_value val = {0};
    switch (a->scope) {
    case SF_SCOPE_ANY:
        val = sf_attrs_get(s->attrs, a->name);
        if (is_visible(val)) /* an invisible value does not hide that of the resource */
            return val;
        return resource_value(&v->resources[s->resource], a->name);
    case SF_SCOPE_RESOURCE: return resource_value(&v->resources[s->resource], a->name);
    case SF_SCOPE_SPAN: return sf_attrs_get(s->attrs, a->name);
    case SF_SCOPE_INSTRUMENTATION: return sf_attrs_get(v->scopes[s->scope].attrs, a->name);
    default: return val;
    }
}

/* ---- many values ---- */

static bool see_value(struct sf_value val, struct sf_eval_values *out)
{
    if (is_visible_array(val)) {
        out->is_array = true;
        out->array = sf_value_list_init(val);
        return true;
    }
    out->one = sf_eval_attr_static_from_value(val);
    return out->one.type != SF_TYPE_NIL;
}

static bool is_many(const struct sf_query_attr *a)
{
    return a->scope == SF_SCOPE_EVENT || a->scope == SF_SCOPE_LINK ||
           a->intrinsic == SF_INTRINSIC_EVENT_NAME || a->intrinsic == SF_INTRINSIC_EVENT_TIME ||
           a->intrinsic == SF_INTRINSIC_LINK_TRACE_ID || a->intrinsic == SF_INTRINSIC_LINK_SPAN_ID;
}

static bool event_value(const struct sf_query_attr *a, const struct sf_span *s, uint32_t i,
                        struct sf_eval_values *out)
{
    const struct sf_event *e = &s->events[i];
    if (a->intrinsic == SF_INTRINSIC_EVENT_NAME) {
        out->one = string(e->name);
        return true;
    }
    if (a->intrinsic == SF_INTRINSIC_EVENT_TIME) {
        out->one = eval_attr_number(SF_TYPE_DURATION, (int64_t)(e->time_ns - s->start_ns));
        return true;
    }
    return see_value(sf_attrs_get(e->attrs, a->name), out);
}

static bool link_value(const struct sf_query_attr *a, const struct sf_span *s, uint32_t i,
                       struct sf_eval_values *out)
{
    const struct sf_link *l = &s->links[i];
    if (a->intrinsic == SF_INTRINSIC_LINK_TRACE_ID) {
        out->one = trace_hex(l->trace_id, out->text);
        return true;
    }
    if (a->intrinsic == SF_INTRINSIC_LINK_SPAN_ID) {
        out->one = hex_id(l->span_id, out->text);
        return true;
    }
    return see_value(sf_attrs_get(l->attrs, a->name), out);
}

bool sf_eval_attr_is_always_there(const struct sf_query_attr *a)
{
    return a->intrinsic != SF_INTRINSIC_NONE && !is_many(a) &&
           !sf_intrinsic_is_profile(a->intrinsic);
}

bool sf_eval_attr_values_next(struct sf_eval_values *out, const struct sf_query_attr *a,
                              const struct sf_trace_view *v, uint32_t span)
{
    const struct sf_span *s = &v->spans[span];
    bool is_event = a->scope == SF_SCOPE_EVENT || a->intrinsic == SF_INTRINSIC_EVENT_NAME ||
                    a->intrinsic == SF_INTRINSIC_EVENT_TIME;
    out->is_array = false;
    if (!is_many(a)) {
        if (out->at++)
            return false;
        if (a->intrinsic == SF_INTRINSIC_NONE)
            return see_value(plain_value(a, v, span), out);
        out->one = intrinsic(a->intrinsic, v, span, out->text);
        return out->one.type != SF_TYPE_NIL;
    }
    while (out->at < (is_event ? s->n_events : s->n_links)) {
        uint32_t i = out->at++;
        out->is_array = false;
        if (is_event ? event_value(a, s, i, out) : link_value(a, s, i, out))
            return true;
    }
    return false;
}

struct sf_static sf_eval_attr_one(const struct sf_query_attr *a, const struct sf_trace_view *v,
                                  uint32_t span, char text[SF_EVAL_TEXT_LEN])
{
    struct sf_eval_values values = {0};
    if (!is_many(a) && a->intrinsic != SF_INTRINSIC_NONE)
        return intrinsic(a->intrinsic, v, span, text);
    while (sf_eval_attr_values_next(&values, a, v, span)) {
        if (values.is_array)
            continue;
        if (values.one.type == SF_TYPE_STRING && values.one.str.p >= values.text &&
            values.one.str.p < values.text + sizeof(values.text)) {
            memcpy(text, values.text, SF_EVAL_TEXT_LEN);
            values.one.str.p = text + (values.one.str.p - values.text);
        }
        return values.one;
    }
    return eval_attr_nil();
}

bool sf_eval_attr_needs_tree(const struct sf_query_attr *a)
{
    return a->intrinsic == SF_INTRINSIC_CHILD_COUNT || a->intrinsic == SF_INTRINSIC_NESTED_LEFT ||
           a->intrinsic == SF_INTRINSIC_NESTED_RIGHT || a->intrinsic == SF_INTRINSIC_NESTED_PARENT;
}
