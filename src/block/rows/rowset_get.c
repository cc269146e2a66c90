/* rowset_get.c - converts rows of a rowset back to spans. The words were written by this process
 * and are trusted. */
#include "block/format/overflow.h"
#include "block/rows/rowset_words.h"

struct unpack {
    const struct sf_rowset *r;
    const uint32_t *at;
    struct sf_arena *req;
    bool is_full;
};

static sf_str get_text(struct unpack *u)
{
    return sf_rowset_text(u->r, *u->at++);
}

static uint64_t get_u64(struct unpack *u)
{
    uint64_t v = sf_words_u64(u->at);
    u->at += 2;
    return v;
}

static void get_attr(struct unpack *u, const struct sf_row_key *k, struct sf_attr *out)
{
    *out = (struct sf_attr){.key = sf_rowset_key_name(u->r, k), .val.type = k->type};
    switch (k->type) {
    case SF_VALUE_EMPTY: break;
    case SF_VALUE_BOOL: out->val.is_true = *u->at++; break;
    case SF_VALUE_INT:
    case SF_VALUE_DOUBLE: out->val.i64 = (int64_t)get_u64(u); break;
    case SF_VALUE_NONE: SF_ASSERT(sf_overflow_unpack(sf_dict_get(&k->texts, *u->at++), out)); break;
    default: out->val.str = sf_dict_get(&k->texts, *u->at++); break;
    }
}

static struct sf_attrs rowset_get_attrs(struct unpack *u)
{
    const struct sf_shapes *s = &u->r->shapes;
    uint32_t shape = *u->at++, n = s->nodes[shape].n_keys;
    struct sf_arena tmp;
    struct sf_attr *list = n ? sf_arena_raw(u->req, n * sizeof(*list), 16) : NULL;
    uint32_t *keys;

    if (n == 0)
        return (struct sf_attrs){0};
    tmp = *u->req;
    keys = sf_arena_raw(&tmp, n * sizeof(*keys), 16);
    if (!list || !keys) {
        u->is_full = true;
        return (struct sf_attrs){0};
    }
    sf_shapes_keys(s, shape, keys);
    for (uint32_t i = 0; i < n; i++)
        get_attr(u, &u->r->keys[keys[i]], &list[i]);
    return (struct sf_attrs){list, n};
}

static void rowset_get_events(struct unpack *u, struct sf_span *out)
{
    uint32_t n = *u->at++;
    struct sf_event *list = sf_arena_new_n(u->req, n, sizeof(*list));
    u->is_full = !list;
    for (uint32_t i = 0; i < n && !u->is_full; i++) {
        list[i].time_ns = get_u64(u);
        list[i].dropped_attrs = *u->at++;
        list[i].name = get_text(u);
        list[i].attrs = rowset_get_attrs(u);
    }
    out->events = list;
    out->n_events = n;
}

static void rowset_get_links(struct unpack *u, struct sf_span *out)
{
    uint32_t n = *u->at++;
    struct sf_link *list = sf_arena_new_n(u->req, n, sizeof(*list));
    u->is_full = !list;
    for (uint32_t i = 0; i < n && !u->is_full; i++) {
        memcpy(list[i].trace_id.b, u->at, sizeof(list[i].trace_id.b));
        u->at += sizeof(list[i].trace_id.b) / sizeof(*u->at);
        list[i].span_id = get_u64(u);
        list[i].dropped_attrs = *u->at++;
        list[i].flags = *u->at++;
        list[i].trace_state = get_text(u);
        list[i].attrs = rowset_get_attrs(u);
    }
    out->links = list;
    out->n_links = n;
}

bool sf_rowset_get(const struct sf_rowset *r, size_t at, struct sf_arena *req, struct sf_span *out)
{
    const struct sf_mem_row *row = &r->rows[at];
    struct unpack u = {.r = r, .at = r->words + row->data_off, .req = req};

    *out = (struct sf_span){
        .trace_id = row->trace_id,
        .span_id = row->span_id,
        .parent_id = row->parent_id,
        .start_ns = row->start_ns,
        .end_ns = row->end_ns,
        .resource = row->resource,
        .scope = row->scope,
        .kind = row->kind,
        .status = row->status,
    };
    out->name = get_text(&u);
    out->attrs = rowset_get_attrs(&u);
    if (u.is_full)
        return false;
    if (row->bits & SF_ROW_STATUS_MSG)
        out->status_msg = get_text(&u);
    if (row->bits & SF_ROW_TRACE_STATE)
        out->trace_state = get_text(&u);
    if (row->bits & SF_ROW_FLAGS)
        out->flags = *u.at++;
    if (row->bits & SF_ROW_DROPPED) {
        out->dropped_attrs = *u.at++;
        out->dropped_events = *u.at++;
        out->dropped_links = *u.at++;
    }
    if (row->bits & SF_ROW_EVENTS)
        rowset_get_events(&u, out);
    if (!u.is_full && row->bits & SF_ROW_LINKS)
        rowset_get_links(&u, out);
    return !u.is_full;
}

bool sf_rowset_get_resource(const struct sf_rowset *r, uint32_t place, struct sf_arena *req,
                            struct sf_resource *out)
{
    struct unpack u = {.r = r, .at = r->words + r->resources.refs[place].off, .req = req};
    *out = (struct sf_resource){.attrs = rowset_get_attrs(&u)};
    if (u.is_full)
        return false;
    out->schema_url = get_text(&u);
    out->service = get_text(&u);
    out->dropped_attrs = *u.at++;
    return true;
}

bool sf_rowset_get_scope(const struct sf_rowset *r, uint32_t place, struct sf_arena *req,
                         struct sf_scope *out)
{
    struct unpack u = {.r = r, .at = r->words + r->scopes.refs[place].off, .req = req};
    *out = (struct sf_scope){.attrs = rowset_get_attrs(&u)};
    if (u.is_full)
        return false;
    out->name = get_text(&u);
    out->version = get_text(&u);
    out->schema_url = get_text(&u);
    out->dropped_attrs = *u.at++;
    return true;
}
