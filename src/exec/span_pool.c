#include "exec/span_pool.h"

#include "base/key.h"
#include "base/list.h"
#include "exec/span_copy.h"

enum { TEXTS = 2048, TEXT_LEN_MAX = 256 };

void sf_span_pool_init(struct sf_span_pool *p, struct sf_arena *req, bool is_bare)
{
    *p = (struct sf_span_pool){
        .req = req, .is_bare = is_bare, .resource_at = {.arena = req}, .scope_at = {.arena = req}};
    sf_span_pool_next_rows(p);
}

void sf_span_pool_next_rows(struct sf_span_pool *p)
{
    p->last_resource = p->last_scope = UINT32_MAX;
}

/* ---- resources and scopes: the place of an equal one, or of a copy ---- */

static bool span_pool_place_resource(struct sf_span_pool *p, const struct sf_resource *in,
                                     uint32_t *out)
{
    struct sf_table_lookup lookup;
    if (!sf_table_more(&p->resource_at))
        return false;
    lookup = sf_table_lookup(&p->resource_at, sf_span_copy_resource_key(in));
    while (sf_table_next(&lookup, out)) {
        if (sf_span_copy_resource_is_same(&p->resources[*out], in))
            return true;
    }
    if (!sf_list_room_in(p->req, &p->resources, p->n_resources, &p->cap_resources, 16) ||
        !sf_span_copy_resource(p->req, in, &p->resources[p->n_resources]))
        return false;
    sf_table_keep(&p->resource_at, &lookup, p->n_resources);
    *out = p->n_resources++;
    return true;
}

static bool span_pool_place_scope(struct sf_span_pool *p, const struct sf_scope *in, uint32_t *out)
{
    struct sf_table_lookup lookup;
    if (!sf_table_more(&p->scope_at))
        return false;
    lookup = sf_table_lookup(&p->scope_at, sf_span_copy_scope_key(in));
    while (sf_table_next(&lookup, out)) {
        if (sf_span_copy_scope_is_same(&p->scopes[*out], in))
            return true;
    }
    if (!sf_list_room_in(p->req, &p->scopes, p->n_scopes, &p->cap_scopes, 16) ||
        !sf_span_copy_scope(p->req, in, &p->scopes[p->n_scopes]))
        return false;
    sf_table_keep(&p->scope_at, &lookup, p->n_scopes);
    *out = p->n_scopes++;
    return true;
}

/* ---- texts ---- */

/* A cache, not a table: one text per slot, and a text that is not in its slot is copied. */

static bool span_pool_copy_text(struct sf_span_pool *p, sf_str in, sf_str *out)
{
    sf_str *met;
    if (in.len == 0) {
        *out = SF_STR("");
        return true;
    }
    if (!p->texts && !(p->texts = sf_arena_new_n(p->req, TEXTS, sizeof(*p->texts))))
        return false;
    met = &p->texts[sf_key_str(in) & (TEXTS - 1)];
    if (in.len <= TEXT_LEN_MAX && sf_str_eq(*met, in)) {
        *out = *met;
        return true;
    }
    if (!sf_arena_copy(p->req, in, out))
        return false;
    if (in.len <= TEXT_LEN_MAX)
        *met = *out;
    return true;
}

static bool span_pool_copy_value(struct sf_span_pool *p, struct sf_value *v)
{
    switch (v->type) {
    case SF_VALUE_STR:
    case SF_VALUE_BYTES:
    case SF_VALUE_ARRAY:
    case SF_VALUE_KVLIST: return span_pool_copy_text(p, v->str, &v->str);
    default: return true;
    }
}

/* ---- spans ---- */

/* Is the attribute about thread, process, resource use or profile of the span? */
static bool is_about_running(sf_str key)
{
    return sf_str_starts(key, SF_STR("thread.")) ||
           sf_str_eq(key, SF_STR("host.runnable_threads")) ||
           sf_str_starts(key, SF_STR("profile.")) || sf_str_starts(key, SF_STR("pyroscope."));
}

static uint32_t count_kept(const struct sf_span_pool *p, struct sf_attrs in)
{
    uint32_t n = 0;
    if (!p->is_bare)
        return in.n;
    for (uint32_t i = 0; i < in.n; i++)
        n += is_about_running(in.list[i].key);
    return n;
}

static bool span_pool_copy_attrs(struct sf_span_pool *p, struct sf_attrs in, struct sf_attrs *out)
{
    uint32_t n = count_kept(p, in), at = 0;
    struct sf_attr *list = NULL;
    if (n > 0 && !(list = sf_arena_raw(p->req, n * sizeof(*list), _Alignof(struct sf_attr))))
        return false;
    for (uint32_t i = 0; i < in.n; i++) {
        if (p->is_bare && !is_about_running(in.list[i].key))
            continue;
        list[at] = in.list[i];
        if (!span_pool_copy_text(p, in.list[i].key, &list[at].key) ||
            !span_pool_copy_value(p, &list[at].val))
            return false;
        at++;
    }
    *out = (struct sf_attrs){list, n};
    return true;
}

static bool copy_events(struct sf_span_pool *p, const struct sf_span *s, struct sf_span *out)
{
    struct sf_event *events = NULL;
    if (s->n_events > 0 && !(events = sf_arena_new_n(p->req, s->n_events, sizeof(*events))))
        return false;
    for (uint32_t i = 0; i < s->n_events; i++) {
        events[i] = s->events[i];
        if (!span_pool_copy_text(p, s->events[i].name, &events[i].name) ||
            !span_pool_copy_attrs(p, s->events[i].attrs, &events[i].attrs))
            return false;
    }
    out->events = events;
    return true;
}

static bool copy_links(struct sf_span_pool *p, const struct sf_span *s, struct sf_span *out)
{
    struct sf_link *links = NULL;
    if (s->n_links > 0 && !(links = sf_arena_new_n(p->req, s->n_links, sizeof(*links))))
        return false;
    for (uint32_t i = 0; i < s->n_links; i++) {
        links[i] = s->links[i];
        if (!span_pool_copy_text(p, s->links[i].trace_state, &links[i].trace_state) ||
            !span_pool_copy_attrs(p, s->links[i].attrs, &links[i].attrs))
            return false;
    }
    out->links = links;
    return true;
}

static bool copy_span(struct sf_span_pool *p, const struct sf_span *s, struct sf_span *out)
{
    *out = *s;
    if (!span_pool_copy_text(p, s->name, &out->name) ||
        !span_pool_copy_attrs(p, s->attrs, &out->attrs))
        return false;
    if (p->is_bare) {
        out->status_msg = out->trace_state = SF_STR_NONE;
        out->events = NULL;
        out->links = NULL;
        out->n_events = out->n_links = 0;
        return true;
    }
    return span_pool_copy_text(p, s->status_msg, &out->status_msg) &&
           span_pool_copy_text(p, s->trace_state, &out->trace_state) && copy_events(p, s, out) &&
           copy_links(p, s, out);
}

bool sf_span_pool_add(struct sf_span_pool *p, const struct sf_span_rows *rows, uint32_t i,
                      struct sf_span *out)
{
    static const struct sf_scope no_scope;
    struct sf_span s = sf_span_rows_get(rows, i);
    bool has_scope = rows->scopes && rows->scope;
    uint32_t scope = has_scope ? s.scope : 0;
    if (s.resource != p->last_resource) {
        if (!span_pool_place_resource(p, &rows->resources[s.resource], &p->last_resource_to))
            return false;
        p->last_resource = s.resource;
    }
    if (scope != p->last_scope) {
        if (!span_pool_place_scope(p, has_scope ? &rows->scopes[scope] : &no_scope,
                                   &p->last_scope_to))
            return false;
        p->last_scope = scope;
    }
    if (!copy_span(p, &s, out))
        return false;
    out->resource = p->last_resource_to;
    out->scope = p->last_scope_to;
    return true;
}
