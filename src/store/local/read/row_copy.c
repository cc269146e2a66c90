#include "store/local/read/row_copy.h"

bool sf_row_copy_value(struct sf_arena *a, struct sf_value *v)
{
    switch (v->type) {
    case SF_VALUE_STR:
    case SF_VALUE_BYTES:
    case SF_VALUE_ARRAY:
    case SF_VALUE_KVLIST: return sf_arena_copy(a, v->str, &v->str);
    default: return true;
    }
}

static bool row_copy_attrs(struct sf_arena *a, struct sf_attrs *attrs)
{
    struct sf_attr *list;
    if (attrs->n == 0) {
        attrs->list = NULL;
        return true;
    }
    list = sf_arena_raw(a, attrs->n * sizeof(*list), 16);
    if (!list)
        return false;
    for (uint32_t i = 0; i < attrs->n; i++) {
        list[i] = attrs->list[i];
        if (!sf_arena_copy(a, list[i].key, &list[i].key) || !sf_row_copy_value(a, &list[i].val))
            return false;
    }
    attrs->list = list;
    return true;
}

bool sf_row_copy_span(struct sf_arena *a, struct sf_span *s)
{
    struct sf_event *events = sf_arena_raw(a, (s->n_events + 1) * sizeof(*events), 16);
    struct sf_link *links = sf_arena_raw(a, (s->n_links + 1) * sizeof(*links), 16);
    bool ok = events && links && sf_arena_copy(a, s->name, &s->name) &&
              sf_arena_copy(a, s->status_msg, &s->status_msg) &&
              sf_arena_copy(a, s->trace_state, &s->trace_state) && row_copy_attrs(a, &s->attrs);
    for (uint32_t i = 0; ok && i < s->n_events; i++) {
        events[i] = s->events[i];
        ok = sf_arena_copy(a, events[i].name, &events[i].name) &&
             row_copy_attrs(a, &events[i].attrs);
    }
    for (uint32_t i = 0; ok && i < s->n_links; i++) {
        links[i] = s->links[i];
        ok = sf_arena_copy(a, links[i].trace_state, &links[i].trace_state) &&
             row_copy_attrs(a, &links[i].attrs);
    }
    s->events = s->n_events ? events : NULL;
    s->links = s->n_links ? links : NULL;
    return ok;
}

bool sf_row_copy_resource(struct sf_arena *a, struct sf_resource *r)
{
    return row_copy_attrs(a, &r->attrs) && sf_arena_copy(a, r->schema_url, &r->schema_url) &&
           sf_arena_copy(a, r->service, &r->service);
}

bool sf_row_copy_scope(struct sf_arena *a, struct sf_scope *s)
{
    return row_copy_attrs(a, &s->attrs) && sf_arena_copy(a, s->name, &s->name) &&
           sf_arena_copy(a, s->version, &s->version) &&
           sf_arena_copy(a, s->schema_url, &s->schema_url);
}
