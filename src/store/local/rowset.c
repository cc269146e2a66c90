/* Packed rest of a row, in memory only, never on disk:
 *
 *   bits u8      which of the rare parts follow (status message, trace state, flags, dropped
 *                counts, events, links)
 *   name         length varint, bytes
 *   attributes   count varint, then per attribute: key place varint, type u8, value
 *   rare parts   in the order of their bits
 *
 * Values: strings, bytes and lists as length varint and bytes; integers and doubles as eight bytes;
 * booleans as one. Values are not interned: the block writer builds dictionaries anyway, and a copy
 * is cheaper than a hash. Keys are, because they would be a third of all bytes. */
#include "store/local/rowset.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/num.h"
#include "block/span_block_writer.h"

enum {
    HAS_STATUS_MSG = 1,
    HAS_TRACE_STATE = 2,
    HAS_FLAGS = 4,
    HAS_DROPPED = 8,
    HAS_EVENTS = 16,
    HAS_LINKS = 32,
};
enum {
    KEEP_LEN = 16 << 20, /* what a reset rowset keeps touched */
    SLICE_LEN = 8 << 20, /* unpacked rows handed to the block writer at once */
    VARINT_LEN = 10,
    HOUR_S = 3600,
};
static const int64_t NS = 1000000000;

bool sf_rowset_init(struct sf_rowset *r, size_t rows_cap, size_t data_cap)
{
    *r = (struct sf_rowset){.rows_cap = rows_cap, .data_cap = data_cap, .keys_off = data_cap};
    if (data_cap > UINT32_MAX)
        return false;
    r->rows = sf_heap_pages(rows_cap * sizeof(*r->rows));
    r->data = sf_heap_pages(data_cap);
    r->first_index_ns = INT64_MAX;
    r->last_ns = INT64_MIN;
    if (r->rows && r->data)
        return true;
    sf_rowset_done(r);
    return false;
}

static void table_done(struct sf_mem_table *t)
{
    sf_heap_free(t->refs);
    sf_heap_free(t->slots);
    *t = (struct sf_mem_table){0};
}

void sf_rowset_done(struct sf_rowset *r)
{
    sf_heap_pages_free(r->rows, r->rows_cap * sizeof(*r->rows));
    sf_heap_pages_free(r->data, r->data_cap);
    table_done(&r->resources);
    table_done(&r->scopes);
    table_done(&r->keys);
    *r = (struct sf_rowset){0};
}

static void table_reset(struct sf_mem_table *t)
{
    if (t->n_slots > 4096) {
        table_done(t); /* a flood of keys must not stay for ever */
        return;
    }
    if (t->slots)
        memset(t->slots, 0, t->n_slots * sizeof(*t->slots));
    t->n = 0;
}

void sf_rowset_reset(struct sf_rowset *r)
{
    size_t rows_len = r->n_rows * sizeof(*r->rows);
    if (rows_len > KEEP_LEN)
        sf_heap_pages_drop(r->rows, r->rows_cap * sizeof(*r->rows));
    if (r->data_len + (r->data_cap - r->keys_off) > KEEP_LEN)
        sf_heap_pages_drop(r->data, r->data_cap);
    r->keys_off = r->data_cap;
    r->n_rows = 0;
    r->data_len = 0;
    r->first_index_ns = INT64_MAX;
    r->last_ns = INT64_MIN;
    table_reset(&r->resources);
    table_reset(&r->scopes);
    table_reset(&r->keys);
}

static size_t table_len(const struct sf_mem_table *t)
{
    return t->n * sizeof(*t->refs) + t->n_slots * sizeof(*t->slots);
}

size_t sf_rowset_len(const struct sf_rowset *r)
{
    return r->n_rows * sizeof(*r->rows) + r->data_len + (r->data_cap - r->keys_off) +
           table_len(&r->resources) + table_len(&r->scopes) + table_len(&r->keys);
}

struct sf_rowset_mark sf_rowset_mark(const struct sf_rowset *r)
{
    return (struct sf_rowset_mark){r->n_rows,   r->data_len, r->keys_off,       r->resources.n,
                                   r->scopes.n, r->keys.n,   r->first_index_ns, r->last_ns};
}

/* ---- tables: keys, resources, scopes ---- */

static void table_place(struct sf_mem_table *t, uint32_t place)
{
    uint32_t at = (uint32_t)t->refs[place].hash & (t->n_slots - 1);
    while (t->slots[at])
        at = (at + 1) & (t->n_slots - 1);
    t->slots[at] = place + 1;
}

static void table_undo(struct sf_mem_table *t, uint32_t n)
{
    if (n == t->n)
        return;
    t->n = n;
    memset(t->slots, 0, t->n_slots * sizeof(*t->slots));
    for (uint32_t i = 0; i < n; i++)
        table_place(t, i);
}

void sf_rowset_undo(struct sf_rowset *r, struct sf_rowset_mark to)
{
    r->n_rows = to.n_rows;
    r->data_len = to.data_len;
    r->keys_off = to.keys_off;
    r->first_index_ns = to.first_index_ns;
    r->last_ns = to.last_ns;
    table_undo(&r->resources, to.n_resources);
    table_undo(&r->scopes, to.n_scopes);
    table_undo(&r->keys, to.n_keys);
}

static bool table_grow(struct sf_mem_table *t)
{
    uint32_t cap = t->cap ? t->cap * 2 : 64;
    uint32_t *slots;
    struct sf_mem_ref *refs = sf_heap_grow(t->refs, cap, sizeof(*refs));
    if (!refs)
        return false;
    t->refs = refs;
    slots = sf_heap_new_n(cap * 2, sizeof(*slots));
    if (!slots)
        return false;
    sf_heap_free(t->slots);
    t->slots = slots;
    t->n_slots = cap * 2;
    t->cap = cap;
    for (uint32_t i = 0; i < t->n; i++)
        table_place(t, i);
    return true;
}

static bool table_find(const struct sf_rowset *r, const struct sf_mem_table *t, uint64_t hash,
                       uint32_t tenant, const void *p, size_t len, uint32_t *out)
{
    if (!t->n_slots)
        return false;
    for (uint32_t at = (uint32_t)hash & (t->n_slots - 1); t->slots[at];
         at = (at + 1) & (t->n_slots - 1)) {
        const struct sf_mem_ref *ref = &t->refs[t->slots[at] - 1];
        if (ref->hash == hash && ref->tenant == tenant && ref->len == len &&
            (len == 0 || memcmp(r->data + ref->off, p, len) == 0)) {
            *out = t->slots[at] - 1;
            return true;
        }
    }
    return false;
}

/* Takes the bytes [off, data_len) as a new entry. */
static bool table_add(struct sf_rowset *r, struct sf_mem_table *t, uint64_t hash, uint32_t tenant,
                      size_t off, uint32_t *out)
{
    if (t->n == t->cap && !table_grow(t))
        return false;
    t->refs[t->n] = (struct sf_mem_ref){hash, tenant, sf_u32(off), sf_u32(r->data_len - off)};
    table_place(t, t->n);
    *out = t->n++;
    return true;
}

/* ---- packing ----
 *
 * put_* advance data_len and say false when the room is used up. */

static bool room(const struct sf_rowset *r, size_t len)
{
    return len <= r->keys_off - r->data_len;
}

static bool put_byte(struct sf_rowset *r, uint8_t v)
{
    if (!room(r, 1))
        return false;
    r->data[r->data_len++] = v;
    return true;
}

static bool put_varint(struct sf_rowset *r, uint64_t v)
{
    if (!room(r, VARINT_LEN))
        return false;
    while (v >= 0x80) {
        r->data[r->data_len++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    r->data[r->data_len++] = (uint8_t)v;
    return true;
}

static bool put_raw(struct sf_rowset *r, const void *p, size_t len)
{
    if (!room(r, len))
        return false;
    if (len)
        memcpy(r->data + r->data_len, p, len);
    r->data_len += len;
    return true;
}

static bool put_str(struct sf_rowset *r, sf_str s)
{
    return put_varint(r, s.len) && put_raw(r, s.p, s.len);
}

static bool put_value(struct sf_rowset *r, struct sf_value v)
{
    if (!put_byte(r, (uint8_t)v.type))
        return false;
    switch (v.type) {
    case SF_VALUE_NONE:
    case SF_VALUE_EMPTY: return true;
    case SF_VALUE_BOOL: return put_byte(r, v.is_true);
    case SF_VALUE_INT: return put_raw(r, &v.i64, sizeof(v.i64));
    case SF_VALUE_DOUBLE: return put_raw(r, &v.f64, sizeof(v.f64));
    default: return put_str(r, v.str);
    }
}

/* A key's bytes go to the far end, so that they never land inside a row being packed. */
static bool place_key(struct sf_rowset *r, sf_str key, uint32_t *out)
{
    struct sf_mem_table *t = &r->keys;
    uint64_t hash = sf_hash_str(key);
    if (table_find(r, t, hash, 0, key.p, key.len, out))
        return true;
    if (!room(r, key.len) || (t->n == t->cap && !table_grow(t)))
        return false;
    r->keys_off -= key.len;
    if (key.len)
        memcpy(r->data + r->keys_off, key.p, key.len);
    t->refs[t->n] = (struct sf_mem_ref){hash, 0, sf_u32(r->keys_off), sf_u32(key.len)};
    table_place(t, t->n);
    *out = t->n++;
    return true;
}

static bool put_attrs(struct sf_rowset *r, struct sf_attrs attrs)
{
    if (!put_varint(r, attrs.n))
        return false;
    for (uint32_t i = 0; i < attrs.n; i++) {
        uint32_t place;
        if (!place_key(r, attrs.list[i].key, &place) || !put_varint(r, place) ||
            !put_value(r, attrs.list[i].val))
            return false;
    }
    return true;
}

static enum sf_err no_room(const struct sf_rowset *r, struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "store: no memory for more rows (%zu rows, %zu bytes held)",
                   r->n_rows, sf_rowset_len(r));
}

/* The bytes [off, data_len) become a place of the table, or are given back when already known. */
static enum sf_err settle(struct sf_rowset *r, struct sf_mem_table *t, uint32_t tenant, size_t off,
                          uint32_t *out, struct sf_why *why)
{
    size_t len = r->data_len - off;
    uint64_t hash = sf_hash_seeded(r->data + off, len, tenant);
    if (table_find(r, t, hash, tenant, r->data + off, len, out)) {
        r->data_len = off;
        return SF_OK;
    }
    if (table_add(r, t, hash, tenant, off, out))
        return SF_OK;
    r->data_len = off;
    return sf_fail(why, SF_ERR_NOMEM, "store: no memory for a resource table");
}

enum sf_err sf_rowset_resource(struct sf_rowset *r, uint32_t tenant, const struct sf_resource *res,
                               uint32_t *out, struct sf_why *why)
{
    size_t off = r->data_len;
    if (put_attrs(r, res->attrs) && put_str(r, res->schema_url) && put_str(r, res->service) &&
        put_varint(r, res->dropped_attrs))
        return settle(r, &r->resources, tenant, off, out, why);
    r->data_len = off;
    return no_room(r, why);
}

enum sf_err sf_rowset_scope(struct sf_rowset *r, uint32_t tenant, const struct sf_scope *scope,
                            uint32_t *out, struct sf_why *why)
{
    size_t off = r->data_len;
    if (put_str(r, scope->name) && put_str(r, scope->version) && put_str(r, scope->schema_url) &&
        put_attrs(r, scope->attrs) && put_varint(r, scope->dropped_attrs))
        return settle(r, &r->scopes, tenant, off, out, why);
    r->data_len = off;
    return no_room(r, why);
}

static bool put_events(struct sf_rowset *r, const struct sf_span *s)
{
    bool ok = put_varint(r, s->n_events);
    for (uint32_t i = 0; ok && i < s->n_events; i++) {
        const struct sf_event *e = &s->events[i];
        ok = put_raw(r, &e->time_ns, sizeof(e->time_ns)) && put_str(r, e->name) &&
             put_attrs(r, e->attrs) && put_varint(r, e->dropped_attrs);
    }
    return ok;
}

static bool put_links(struct sf_rowset *r, const struct sf_span *s)
{
    bool ok = put_varint(r, s->n_links);
    for (uint32_t i = 0; ok && i < s->n_links; i++) {
        const struct sf_link *l = &s->links[i];
        ok = put_raw(r, l->trace_id.b, sizeof(l->trace_id.b)) &&
             put_raw(r, &l->span_id, sizeof(l->span_id)) && put_str(r, l->trace_state) &&
             put_attrs(r, l->attrs) && put_varint(r, l->dropped_attrs) && put_varint(r, l->flags);
    }
    return ok;
}

static uint8_t rare_parts(const struct sf_span *s)
{
    return (uint8_t)((s->status_msg.len ? HAS_STATUS_MSG : 0) |
                     (s->trace_state.len ? HAS_TRACE_STATE : 0) | (s->flags ? HAS_FLAGS : 0) |
                     (s->dropped_attrs || s->dropped_events || s->dropped_links ? HAS_DROPPED : 0) |
                     (s->n_events ? HAS_EVENTS : 0) | (s->n_links ? HAS_LINKS : 0));
}

static bool put_rest(struct sf_rowset *r, const struct sf_span *s)
{
    uint8_t bits = rare_parts(s);
    if (!put_byte(r, bits) || !put_str(r, s->name) || !put_attrs(r, s->attrs))
        return false;
    if ((bits & HAS_STATUS_MSG) && !put_str(r, s->status_msg))
        return false;
    if ((bits & HAS_TRACE_STATE) && !put_str(r, s->trace_state))
        return false;
    if ((bits & HAS_FLAGS) && !put_varint(r, s->flags))
        return false;
    if ((bits & HAS_DROPPED) &&
        !(put_varint(r, s->dropped_attrs) && put_varint(r, s->dropped_events) &&
          put_varint(r, s->dropped_links)))
        return false;
    if ((bits & HAS_EVENTS) && !put_events(r, s))
        return false;
    return !(bits & HAS_LINKS) || put_links(r, s);
}

enum sf_err sf_rowset_add(struct sf_rowset *r, uint32_t tenant, const struct sf_span *span,
                          int64_t index_ns, int64_t last_ns, struct sf_why *why)
{
    struct sf_mem_row *row;
    size_t off = r->data_len;

    if (r->n_rows == r->rows_cap || !put_rest(r, span)) {
        r->data_len = off; /* new keys stay: harmless, and undone with the batch */
        return no_room(r, why);
    }
    row = &r->rows[r->n_rows++];
    *row = (struct sf_mem_row){
        .hash = sf_trace_id_hash(span->trace_id, tenant),
        .trace_id = span->trace_id,
        .span_id = span->span_id,
        .parent_id = span->parent_id,
        .start_ns = span->start_ns,
        .end_ns = span->end_ns,
        .index_ns = index_ns,
        .tenant = tenant,
        .resource = span->resource,
        .scope = span->scope,
        .data_off = (uint32_t)off,
        .n_attrs = span->attrs.n,
        .kind = span->kind,
        .status = span->status,
    };
    if (index_ns < r->first_index_ns)
        r->first_index_ns = index_ns;
    if (last_ns > r->last_ns)
        r->last_ns = last_ns;
    return SF_OK;
}

int64_t sf_index_time(uint64_t start_ns, int64_t recv_ns, int64_t retention_ns)
{
    int64_t earliest = retention_ns > 0 && retention_ns < recv_ns ? recv_ns - retention_ns : 0;
    int64_t latest = sf_add_sat_i64(recv_ns, HOUR_S * NS);
    if (start_ns > (uint64_t)INT64_MAX || (int64_t)start_ns < earliest ||
        (int64_t)start_ns > latest || start_ns == 0)
        return recv_ns;
    return (int64_t)start_ns;
}

int64_t sf_index_end(uint64_t end_ns, int64_t index_ns, int64_t recv_ns)
{
    int64_t latest = sf_add_sat_i64(recv_ns, HOUR_S * NS);
    int64_t end = end_ns > (uint64_t)latest ? latest : (int64_t)end_ns;
    return end > index_ns ? end : index_ns;
}

enum sf_err sf_rowset_add_batch(struct sf_rowset *r, uint32_t tenant, int64_t recv_ns,
                                int64_t retention_ns, const struct sf_span_batch *batch,
                                struct sf_why *why)
{
    struct sf_rowset_mark before = sf_rowset_mark(r);
    enum sf_err err = SF_OK;
    uint32_t n_places = batch->n_resources + batch->n_scopes;
    uint32_t *places = sf_heap_new_n(n_places ? n_places : 1, sizeof(*places));

    if (!places)
        return sf_fail(why, SF_ERR_NOMEM, "store: no memory for a batch's tables");
    for (uint32_t i = 0; !err && i < batch->n_resources; i++)
        err = sf_rowset_resource(r, tenant, &batch->resources[i], &places[i], why);
    for (uint32_t i = 0; !err && i < batch->n_scopes; i++)
        err = sf_rowset_scope(r, tenant, &batch->scopes[i], &places[batch->n_resources + i], why);
    for (uint32_t i = 0; !err && i < batch->n_spans; i++) {
        struct sf_span s = batch->spans[i];
        int64_t index_ns = sf_index_time(s.start_ns, recv_ns, retention_ns);
        SF_ASSERT(s.resource < batch->n_resources && s.scope < batch->n_scopes);
        s.resource = places[s.resource];
        s.scope = places[batch->n_resources + s.scope];
        err = sf_rowset_add(r, tenant, &s, index_ns, sf_index_end(s.end_ns, index_ns, recv_ns),
                            why);
    }
    if (err)
        sf_rowset_undo(r, before);
    sf_heap_free(places);
    return err;
}

/* ---- unpacking: our own bytes, never from outside ---- */

struct unpack {
    const struct sf_rowset *r;
    const uint8_t *at;
    struct sf_arena *req;
    bool is_full;
};

static uint64_t get_varint(struct unpack *u)
{
    uint64_t v = 0;
    unsigned shift = 0;
    while (*u->at & 0x80) {
        v |= (uint64_t)(*u->at++ & 0x7f) << shift;
        shift += 7;
    }
    return v | (uint64_t)*u->at++ << shift;
}

static sf_str get_str(struct unpack *u)
{
    size_t len = get_varint(u);
    sf_str s = {(const char *)u->at, len};
    u->at += len;
    return s;
}

static uint64_t get_u64(struct unpack *u)
{
    uint64_t v = sf_load_u64le(u->at);
    u->at += 8;
    return v;
}

static struct sf_value get_value(struct unpack *u)
{
    struct sf_value v = {.type = (enum sf_value_type) * u->at++};
    switch (v.type) {
    case SF_VALUE_NONE:
    case SF_VALUE_EMPTY: break;
    case SF_VALUE_BOOL: v.is_true = *u->at++; break;
    case SF_VALUE_INT: v.i64 = (int64_t)get_u64(u); break;
    case SF_VALUE_DOUBLE:
        memcpy(&v.f64, u->at, sizeof(v.f64));
        u->at += sizeof(v.f64);
        break;
    default: v.str = get_str(u); break;
    }
    return v;
}

static struct sf_attrs get_attrs(struct unpack *u)
{
    uint32_t n = (uint32_t)get_varint(u);
    struct sf_attr *list = n ? sf_arena_raw(u->req, n * sizeof(*list), 16) : NULL;
    if (n && !list) {
        u->is_full = true;
        return (struct sf_attrs){0};
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_mem_ref *key = &u->r->keys.refs[get_varint(u)];
        list[i].key = (sf_str){(const char *)u->r->data + key->off, key->len};
        list[i].val = get_value(u);
    }
    return (struct sf_attrs){list, n};
}

static void get_events(struct unpack *u, struct sf_span *out)
{
    uint32_t n = (uint32_t)get_varint(u);
    struct sf_event *list = sf_arena_new_n(u->req, n, sizeof(*list));
    u->is_full = !list;
    for (uint32_t i = 0; i < n && !u->is_full; i++) {
        list[i].time_ns = get_u64(u);
        list[i].name = get_str(u);
        list[i].attrs = get_attrs(u);
        list[i].dropped_attrs = u->is_full ? 0 : (uint32_t)get_varint(u);
    }
    out->events = list;
    out->n_events = n;
}

static void get_links(struct unpack *u, struct sf_span *out)
{
    uint32_t n = (uint32_t)get_varint(u);
    struct sf_link *list = sf_arena_new_n(u->req, n, sizeof(*list));
    u->is_full = !list;
    for (uint32_t i = 0; i < n && !u->is_full; i++) {
        memcpy(list[i].trace_id.b, u->at, sizeof(list[i].trace_id.b));
        u->at += sizeof(list[i].trace_id.b);
        list[i].span_id = get_u64(u);
        list[i].trace_state = get_str(u);
        list[i].attrs = get_attrs(u);
        if (u->is_full)
            break;
        list[i].dropped_attrs = (uint32_t)get_varint(u);
        list[i].flags = (uint32_t)get_varint(u);
    }
    out->links = list;
    out->n_links = n;
}

bool sf_rowset_get(const struct sf_rowset *r, size_t at, struct sf_arena *req, struct sf_span *out)
{
    const struct sf_mem_row *row = &r->rows[at];
    struct unpack u = {.r = r, .at = r->data + row->data_off, .req = req};
    uint8_t bits = *u.at++;

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
    out->name = get_str(&u);
    out->attrs = get_attrs(&u);
    if (!u.is_full && (bits & HAS_STATUS_MSG))
        out->status_msg = get_str(&u);
    if (!u.is_full && (bits & HAS_TRACE_STATE))
        out->trace_state = get_str(&u);
    if (!u.is_full && (bits & HAS_FLAGS))
        out->flags = (uint32_t)get_varint(&u);
    if (!u.is_full && (bits & HAS_DROPPED)) {
        out->dropped_attrs = (uint32_t)get_varint(&u);
        out->dropped_events = (uint32_t)get_varint(&u);
        out->dropped_links = (uint32_t)get_varint(&u);
    }
    if (!u.is_full && (bits & HAS_EVENTS))
        get_events(&u, out);
    if (!u.is_full && (bits & HAS_LINKS))
        get_links(&u, out);
    return !u.is_full;
}

bool sf_rowset_get_resource(const struct sf_rowset *r, uint32_t place, struct sf_arena *req,
                            struct sf_resource *out)
{
    struct unpack u = {.r = r, .at = r->data + r->resources.refs[place].off, .req = req};
    *out = (struct sf_resource){.attrs = get_attrs(&u)};
    if (u.is_full)
        return false;
    out->schema_url = get_str(&u);
    out->service = get_str(&u);
    out->dropped_attrs = (uint32_t)get_varint(&u);
    return true;
}

bool sf_rowset_get_scope(const struct sf_rowset *r, uint32_t place, struct sf_arena *req,
                         struct sf_scope *out)
{
    struct unpack u = {.r = r, .at = r->data + r->scopes.refs[place].off, .req = req};
    *out = (struct sf_scope){.name = get_str(&u)};
    out->version = get_str(&u);
    out->schema_url = get_str(&u);
    out->attrs = get_attrs(&u);
    if (u.is_full)
        return false;
    out->dropped_attrs = (uint32_t)get_varint(&u);
    return true;
}

/* ---- writing: rows to traces to a block ---- */

struct group { /* one trace */
    int64_t first_ns;
    uint32_t any_row, n, at;
};

struct order {
    const struct sf_rowset *r;
    struct group *groups;
    uint32_t n_groups;
    uint32_t *rows; /* row numbers, trace by trace */
};

static int by_start(const void *a, const void *b, void *arg)
{
    const struct sf_mem_row *rows = ((const struct sf_rowset *)arg)->rows;
    uint32_t ia = *(const uint32_t *)a, ib = *(const uint32_t *)b;
    const struct sf_mem_row *x = &rows[ia], *y = &rows[ib];
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return ia < ib ? -1 : ia > ib;
}

static int by_identity(const void *a, const void *b, void *arg)
{
    const struct sf_mem_row *rows = ((const struct sf_rowset *)arg)->rows;
    uint32_t ia = *(const uint32_t *)a, ib = *(const uint32_t *)b;
    const struct sf_mem_row *x = &rows[ia], *y = &rows[ib];
    if (x->span_id != y->span_id)
        return x->span_id < y->span_id ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return ia < ib ? -1 : ia > ib;
}

static int by_trace(const void *a, const void *b, void *arg)
{
    const struct sf_mem_row *rows = ((const struct sf_rowset *)arg)->rows;
    const struct group *x = a, *y = b;
    const struct sf_mem_row *rx = &rows[x->any_row], *ry = &rows[y->any_row];
    if (rx->tenant != ry->tenant)
        return rx->tenant < ry->tenant ? -1 : 1;
    if (x->first_ns != y->first_ns)
        return x->first_ns < y->first_ns ? -1 : 1;
    return sf_trace_id_cmp(rx->trace_id, ry->trace_id);
}

static bool same_trace(const struct sf_mem_row *a, const struct sf_mem_row *b)
{
    return a->hash == b->hash && a->tenant == b->tenant && sf_trace_id_eq(a->trace_id, b->trace_id);
}

/* Gives every row its trace: `of_row[i]`, and the traces in order of appearance. */
static bool find_groups(struct order *o, uint32_t *of_row, struct sf_arena scratch)
{
    const struct sf_rowset *r = o->r;
    uint32_t n_slots = 16;
    uint32_t *slots;
    while (n_slots < 2 * r->n_rows)
        n_slots *= 2;
    slots = sf_arena_new_n(&scratch, n_slots, sizeof(*slots));
    if (!slots)
        return false;
    for (uint32_t i = 0; i < r->n_rows; i++) {
        const struct sf_mem_row *row = &r->rows[i];
        uint32_t at = (uint32_t)(row->hash >> 7) & (n_slots - 1);
        struct group *g;
        while (slots[at] && !same_trace(row, &r->rows[o->groups[slots[at] - 1].any_row]))
            at = (at + 1) & (n_slots - 1);
        if (!slots[at]) {
            o->groups[o->n_groups] = (struct group){.first_ns = INT64_MAX, .any_row = i};
            slots[at] = ++o->n_groups;
        }
        g = &o->groups[slots[at] - 1];
        of_row[i] = slots[at] - 1;
        g->n++;
        if (row->index_ns < g->first_ns)
            g->first_ns = row->index_ns;
    }
    return true;
}

static bool order_rows(struct order *o, struct sf_arena *scratch)
{
    size_t n = o->r->n_rows;
    uint32_t at = 0;
    uint32_t *of_row = sf_arena_raw(scratch, n * sizeof(*of_row), 16);
    o->groups = sf_arena_raw(scratch, n * sizeof(*o->groups), 16);
    o->rows = sf_arena_raw(scratch, n * sizeof(*o->rows), 16);
    if (!of_row || !o->groups || !o->rows || !find_groups(o, of_row, *scratch))
        return false;
    for (uint32_t g = 0; g < o->n_groups; g++) {
        o->groups[g].at = at;
        at += o->groups[g].n;
    }
    for (uint32_t i = 0; i < n; i++)
        o->rows[o->groups[of_row[i]].at++] = i;
    for (uint32_t g = 0; g < o->n_groups; g++)
        o->groups[g].at -= o->groups[g].n;
    qsort_r(o->groups, o->n_groups, sizeof(*o->groups), by_trace, (void *)(uintptr_t)o->r);
    return true;
}

static bool row_is_better(const struct sf_mem_row *a, const struct sf_mem_row *b)
{
    struct sf_span x = {.end_ns = a->end_ns, .attrs = {.n = a->n_attrs}};
    struct sf_span y = {.end_ns = b->end_ns, .attrs = {.n = b->n_attrs}};
    return sf_span_is_better(&x, &y);
}

/* Of each span that came more than once keeps the better copy; returns how many rows are left. */
static uint32_t drop_repeats(const struct sf_rowset *r, uint32_t *rows, uint32_t n)
{
    uint32_t kept = 1;
    if (n < 2)
        return n;
    qsort_r(rows, n, sizeof(*rows), by_identity, (void *)(uintptr_t)r);
    for (uint32_t i = 1; i < n; i++) {
        const struct sf_mem_row *last = &r->rows[rows[kept - 1]], *row = &r->rows[rows[i]];
        if (last->span_id != row->span_id || last->kind != row->kind)
            rows[kept++] = rows[i];
        else if (row_is_better(last, row))
            rows[kept - 1] = rows[i];
    }
    return kept;
}

struct codes { /* rowset places to the block's codes; SF_NONE until asked */
    uint32_t *resources, *scopes;
};

static enum sf_err code_of_resource(const struct sf_rowset *r, struct sf_span_block_writer *w,
                                    const struct sf_mem_row *row, struct codes *codes,
                                    struct sf_arena scratch, struct sf_why *why)
{
    struct sf_resource res;
    if (codes->resources[row->resource] != UINT32_MAX)
        return SF_OK;
    if (!sf_rowset_get_resource(r, row->resource, &scratch, &res))
        return sf_fail(why, SF_ERR_LIMIT, "store: a resource does not fit its memory");
    return sf_span_block_writer_resource(w, row->tenant, &res, &codes->resources[row->resource],
                                         why);
}

static enum sf_err code_of_scope(const struct sf_rowset *r, struct sf_span_block_writer *w,
                                 const struct sf_mem_row *row, struct codes *codes,
                                 struct sf_arena scratch, struct sf_why *why)
{
    struct sf_scope scope;
    if (codes->scopes[row->scope] != UINT32_MAX)
        return SF_OK;
    if (!sf_rowset_get_scope(r, row->scope, &scratch, &scope))
        return sf_fail(why, SF_ERR_LIMIT, "store: a scope does not fit its memory");
    return sf_span_block_writer_scope(w, row->tenant, &scope, &codes->scopes[row->scope], why);
}

/* One trace, in slices that fit the writer and the scratch memory. */
static enum sf_err write_trace(const struct sf_rowset *r, struct sf_span_block_writer *w,
                               const uint32_t *rows, uint32_t n, struct codes *codes,
                               struct sf_arena scratch, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    uint32_t done = 0;
    while (!err && done < n) {
        struct sf_arena slice = scratch;
        uint32_t max = n - done < SF_LIMIT_GRANULE_ROWS ? n - done : SF_LIMIT_GRANULE_ROWS;
        struct sf_span *spans = sf_arena_raw(&slice, max * sizeof(*spans), 16);
        int64_t *index_ns = sf_arena_raw(&slice, max * sizeof(*index_ns), 16);
        size_t begin = sf_arena_used(&slice);
        uint32_t k = 0;
        if (!spans || !index_ns)
            return sf_fail(why, SF_ERR_LIMIT, "store: a trace does not fit its memory");
        for (; !err && k < max; k++) {
            const struct sf_mem_row *row = &r->rows[rows[done + k]];
            if (k && sf_arena_used(&slice) - begin > SLICE_LEN)
                break;
            err = code_of_resource(r, w, row, codes, slice, why);
            if (!err)
                err = code_of_scope(r, w, row, codes, slice, why);
            if (!err && !sf_rowset_get(r, rows[done + k], &slice, &spans[k])) {
                if (k)
                    break;
                err = sf_fail(why, SF_ERR_LIMIT, "store: one span does not fit its memory");
            }
            if (err)
                return err;
            spans[k].resource = codes->resources[row->resource];
            spans[k].scope = codes->scopes[row->scope];
            index_ns[k] = row->index_ns;
        }
        err = sf_span_block_writer_trace(w, r->rows[rows[done]].tenant, spans, index_ns, k, why);
        done += k;
    }
    return err;
}

enum sf_err sf_rowset_write(const struct sf_rowset *r, struct sf_span_block_writer *w,
                            struct sf_arena scratch, uint64_t *out_n_repeats, struct sf_why *why)
{
    struct order o = {.r = r};
    struct codes codes;
    uint64_t n_repeats = 0;

    codes.resources = sf_arena_raw(&scratch, (r->resources.n + 1) * sizeof(uint32_t), 16);
    codes.scopes = sf_arena_raw(&scratch, (r->scopes.n + 1) * sizeof(uint32_t), 16);
    if (!codes.resources || !codes.scopes || !order_rows(&o, &scratch))
        return sf_fail(why, SF_ERR_LIMIT, "store: no memory to order %zu rows", r->n_rows);
    memset(codes.resources, 0xff, r->resources.n * sizeof(uint32_t));
    memset(codes.scopes, 0xff, r->scopes.n * sizeof(uint32_t));

    for (uint32_t g = 0; g < o.n_groups; g++) {
        uint32_t *rows = o.rows + o.groups[g].at;
        uint32_t n = drop_repeats(r, rows, o.groups[g].n);
        enum sf_err err;
        n_repeats += o.groups[g].n - n;
        qsort_r(rows, n, sizeof(*rows), by_start, (void *)(uintptr_t)r);
        err = write_trace(r, w, rows, n, &codes, scratch, why);
        if (err)
            return err;
    }
    if (out_n_repeats)
        *out_n_repeats += n_repeats;
    return SF_OK;
}
