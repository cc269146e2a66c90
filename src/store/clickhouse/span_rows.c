/* span_rows.c - spans as rows. Nothing is lost: attributes are in arrays by type, which SQL can
 * search, and `attr_types` has their order; everything without a column is in `rest`, a batch of
 * one span in the form of the log (model/batch_codec.h). Resources and scopes are in dictionaries,
 * complete in `body` in the same form.
 *
 *     attr_types   one letter per attribute, in the sender's order:
 *                  s string (sk, sv), i integer (ik, iv), d double (dk, dv), x any other (xk; xv
 *                  is the type as a byte, then the value: a byte for a bool, nothing for an empty
 *                  value, the bytes of the others) */
#include <inttypes.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/num.h"
#include "base/table.h"
#include "base/time_unit.h"
#include "model/batch_codec.h"
#include "store/clickhouse/remote_outbox.h"
#include "wire/row_binary.h"

struct trace {
    sf_trace_id id;
    uint64_t start_ns, end_ns;
    uint32_t n_spans, n_errors;
    uint32_t root;  /* a span, or SF_NONE */
    uint32_t first; /* the first of its spans; `next` has the following ones */
    uint16_t day;
    uint32_t first_bucket, last_bucket;
};

struct adding {
    struct sf_remote_outbox *o;
    sf_str tenant;
    int64_t recv_ns;
    const struct sf_span_batch *b;
    uint64_t *resources, *scopes; /* their ids */
    struct trace *traces;
    uint32_t n_traces, cap_traces;
    uint32_t *next; /* next span of the same trace */
    struct sf_table at;
    struct sf_buf scratch;
};

static uint32_t span_rows_bucket(int64_t at_ns)
{
    return (uint32_t)(at_ns / (300 * SF_NS_PER_S) * 300);
}

static void span_rows_add_tenant_day(struct sf_buf *row, sf_str tenant, uint16_t day)
{
    sf_row_add_str(row, tenant);
    sf_buf_add_u16le(row, day);
}

/* ---- dictionaries ---- */

static sf_bytes resource_body(struct adding *a, const struct sf_resource *r)
{
    sf_buf_reset(&a->scratch);
    sf_batch_codec_encode(&(struct sf_span_batch){.resources = r, .n_resources = 1}, &a->scratch);
    return sf_buf_bytes(&a->scratch);
}

static sf_bytes scope_body(struct adding *a, const struct sf_scope *s)
{
    sf_buf_reset(&a->scratch);
    sf_batch_codec_encode(&(struct sf_span_batch){.scopes = s, .n_scopes = 1}, &a->scratch);
    return sf_buf_bytes(&a->scratch);
}

/* Text for users who read the table; `body` has the exact value. */
static void span_rows_add_text(struct sf_buf *row, struct sf_value v)
{
    struct sf_buf text = {0};
    switch (v.type) {
    case SF_VALUE_STR: sf_row_add_str(row, v.str); return;
    case SF_VALUE_BOOL: sf_row_add_str(row, v.is_true ? SF_STR("true") : SF_STR("false")); return;
    case SF_VALUE_INT: sf_buf_print(&text, "%" PRId64, v.i64); break;
    case SF_VALUE_DOUBLE: sf_buf_print(&text, "%.17g", v.f64); break;
    default: break;
    }
    sf_row_add_str(row, sf_buf_str(&text));
    if (text.err && !row->err)
        row->err = text.err;
    sf_buf_done(&text);
}

static void span_rows_add_resource(struct adding *a, uint32_t shard, uint16_t day, uint32_t place)
{
    const struct sf_resource *r = &a->b->resources[place];
    struct sf_buf *row = sf_remote_outbox_entry(a->o, shard, SF_SHIP_RESOURCES, a->tenant, day,
                                                a->resources[place]);
    if (!row)
        return;
    span_rows_add_tenant_day(row, a->tenant, day);
    sf_buf_add_u64le(row, a->resources[place]);
    sf_row_add_str(row, r->service);
    sf_buf_add_varint(row, r->attrs.n);
    for (uint32_t i = 0; i < r->attrs.n; i++)
        sf_row_add_str(row, r->attrs.list[i].key);
    sf_buf_add_varint(row, r->attrs.n);
    for (uint32_t i = 0; i < r->attrs.n; i++)
        span_rows_add_text(row, r->attrs.list[i].val);
    sf_row_add_str(row, sf_bytes_str(resource_body(a, r)));
}

static void span_rows_add_scope(struct adding *a, uint32_t shard, uint16_t day, uint32_t place)
{
    const struct sf_scope *s = &a->b->scopes[place];
    struct sf_buf *row = sf_remote_outbox_entry(a->o, shard, SF_SHIP_SCOPES, a->tenant, day,
                                                a->scopes[place]);
    if (!row)
        return;
    span_rows_add_tenant_day(row, a->tenant, day);
    sf_buf_add_u64le(row, a->scopes[place]);
    sf_row_add_str(row, s->name);
    sf_row_add_str(row, s->version);
    sf_row_add_str(row, sf_bytes_str(scope_body(a, s)));
}

/* ---- one span ---- */

static char letter_of(enum sf_value_type type)
{
    return type == SF_VALUE_STR      ? 's'
           : type == SF_VALUE_INT    ? 'i'
           : type == SF_VALUE_DOUBLE ? 'd'
                                     : 'x';
}

static uint32_t span_rows_add_keys(struct sf_buf *row, struct sf_attrs attrs, char letter)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < attrs.n; i++)
        n += letter_of(attrs.list[i].val.type) == letter;
    sf_buf_add_varint(row, n);
    for (uint32_t i = 0; n && i < attrs.n; i++) {
        if (letter_of(attrs.list[i].val.type) == letter)
            sf_row_add_str(row, attrs.list[i].key);
    }
    sf_buf_add_varint(row, n); /* number of values, which follow */
    return n;
}

static void span_rows_add_other(struct sf_buf *row, struct sf_value v)
{
    bool is_bool = v.type == SF_VALUE_BOOL;
    sf_str bytes = is_bool || v.type == SF_VALUE_EMPTY ? SF_STR_NONE : v.str;
    sf_buf_add_varint(row, 1 + (is_bool ? 1 : bytes.len));
    sf_buf_add_u8(row, (uint8_t)v.type);
    if (is_bool)
        sf_buf_add_u8(row, v.is_true);
    sf_buf_add_str(row, bytes);
}

static void span_rows_add_value(struct sf_buf *row, char letter, struct sf_value v)
{
    switch (letter) {
    case 's': sf_row_add_str(row, v.str); break;
    case 'i': sf_buf_add_u64le(row, (uint64_t)v.i64); break;
    case 'd': sf_buf_add_u64le(row, sf_load_u64le(&v.f64)); break;
    default: span_rows_add_other(row, v);
    }
}

static void span_rows_add_attrs(struct sf_buf *row, struct sf_attrs attrs)
{
    static const char letters[] = "sidx";
    for (const char *letter = letters; *letter; letter++) {
        uint32_t n = span_rows_add_keys(row, attrs, *letter);
        for (uint32_t i = 0; n && i < attrs.n; i++) {
            if (letter_of(attrs.list[i].val.type) == *letter)
                span_rows_add_value(row, *letter, attrs.list[i].val);
        }
    }
    sf_buf_add_varint(row, attrs.n);
    for (uint32_t i = 0; i < attrs.n; i++)
        sf_buf_add_u8(row, (uint8_t)letter_of(attrs.list[i].val.type));
}

static bool has_rest(const struct sf_span *s)
{
    if (s->n_links || s->dropped_attrs || s->dropped_events || s->dropped_links)
        return true;
    for (uint32_t i = 0; i < s->n_events; i++) {
        if (s->events[i].attrs.n || s->events[i].dropped_attrs)
            return true;
    }
    return false;
}

static void span_rows_add_rest(struct adding *a, struct sf_buf *row, const struct sf_span *s)
{
    struct sf_resource resource = {0};
    struct sf_scope scope = {0};
    struct sf_span rest = {.trace_id = {{1}}, /* any valid id: the form requires one */
                           .span_id = 1,
                           .start_ns = s->start_ns,
                           .end_ns = s->start_ns,
                           .events = s->events,
                           .n_events = s->n_events,
                           .links = s->links,
                           .n_links = s->n_links,
                           .dropped_attrs = s->dropped_attrs,
                           .dropped_events = s->dropped_events,
                           .dropped_links = s->dropped_links};
    struct sf_span_batch one = {&resource, &scope, &rest, 1, 1, 1};
    sf_buf_reset(&a->scratch);
    if (has_rest(s))
        sf_batch_codec_encode(&one, &a->scratch);
    sf_row_add_str(row, sf_buf_str(&a->scratch));
}

static void span_rows_add_span(struct adding *a, const struct sf_span *s, uint32_t shard,
                               int64_t at_ns)
{
    const struct sf_resource *r = &a->b->resources[s->resource];
    uint16_t day = sf_remote_outbox_day(at_ns);
    struct sf_buf *row;
    span_rows_add_resource(a, shard, day, s->resource);
    span_rows_add_scope(a, shard, day, s->scope);
    row = sf_remote_outbox_row(a->o, shard, SF_SHIP_SPANS, day);
    span_rows_add_tenant_day(row, a->tenant, day);
    sf_buf_add_u32le(row, span_rows_bucket(at_ns));
    sf_row_add_str(row, r->service);
    sf_row_add_str(row, s->name);
    sf_buf_add_u64le(row, s->start_ns);
    /* Modulo 2^64, so that the end can be restored exactly. */
    sf_buf_add_u64le(row, s->end_ns - s->start_ns);
    sf_buf_add(row, s->trace_id.b, sizeof(s->trace_id.b));
    sf_buf_add_u64le(row, s->span_id);
    sf_buf_add_u64le(row, s->parent_id);
    sf_buf_add_u8(row, s->kind);
    sf_buf_add_u8(row, s->status);
    sf_row_add_str(row, s->status_msg);
    sf_buf_add_u64le(row, a->resources[s->resource]);
    sf_buf_add_u64le(row, a->scopes[s->scope]);
    span_rows_add_attrs(row, s->attrs);
    sf_buf_add_u32le(row, s->flags);
    sf_row_add_str(row, s->trace_state);
    sf_buf_add_varint(row, s->n_events);
    for (uint32_t i = 0; i < s->n_events; i++)
        sf_buf_add_u64le(row, s->events[i].time_ns);
    sf_buf_add_varint(row, s->n_events);
    for (uint32_t i = 0; i < s->n_events; i++)
        sf_row_add_str(row, s->events[i].name);
    span_rows_add_rest(a, row, s);
    sf_buf_add_u64le(row, a->o->batch);
}

/* ---- the index of traces ---- */

static struct trace *span_rows_find_trace(struct adding *a, sf_trace_id id)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!sf_table_more(&a->at) || !sf_list_room(&a->traces, a->n_traces, &a->cap_traces, 64)) {
        a->o->is_short = true;
        return NULL;
    }
    lookup = sf_table_lookup(&a->at, sf_trace_id_key(id, 0));
    while (sf_table_next(&lookup, &at)) {
        if (sf_trace_id_eq(a->traces[at].id, id))
            return &a->traces[at];
    }
    sf_table_keep(&a->at, &lookup, a->n_traces);
    a->traces[a->n_traces] = (struct trace){.id = id,
                                            .start_ns = UINT64_MAX,
                                            .root = SF_NONE,
                                            .first = SF_NONE,
                                            .day = UINT16_MAX,
                                            .first_bucket = UINT32_MAX};
    return &a->traces[a->n_traces++];
}

static void note_trace(struct adding *a, uint32_t place, int64_t at_ns)
{
    const struct sf_span *s = &a->b->spans[place];
    struct trace *t = span_rows_find_trace(a, s->trace_id);
    uint16_t day = sf_remote_outbox_day(at_ns);
    uint32_t bucket = span_rows_bucket(at_ns);
    if (!t)
        return;
    a->next[place] = t->first;
    t->first = place;
    t->start_ns = s->start_ns < t->start_ns ? s->start_ns : t->start_ns;
    t->end_ns = s->end_ns > t->end_ns ? s->end_ns : t->end_ns;
    t->day = day < t->day ? day : t->day;
    t->first_bucket = bucket < t->first_bucket ? bucket : t->first_bucket;
    t->last_bucket = bucket > t->last_bucket ? bucket : t->last_bucket;
    t->n_spans++;
    t->n_errors += s->status == SF_STATUS_ERROR;
    if (!s->parent_id)
        t->root = place;
}

/* Adds the trace's services, each once: many spans share few resources. */
static void span_rows_add_services(struct adding *a, struct sf_buf *row, const struct trace *t)
{
    enum { MOST = 64 };
    sf_str list[MOST];
    uint32_t n = 0;
    for (uint32_t i = t->first; i != SF_NONE && n < MOST; i = a->next[i]) {
        sf_str service = a->b->resources[a->b->spans[i].resource].service;
        uint32_t k = 0;
        while (k < n && !sf_str_eq(list[k], service))
            k++;
        if (k == n)
            list[n++] = service;
    }
    sf_buf_add_varint(row, n);
    for (uint32_t i = 0; i < n; i++)
        sf_row_add_str(row, list[i]);
}

static uint32_t shard_of(const struct adding *a, sf_trace_id id)
{
    return sf_outbox_shard(a->o, sf_trace_id_hash(id, 0));
}

static void span_rows_add_trace(struct adding *a, const struct trace *t)
{
    const struct sf_span *root = t->root == SF_NONE ? NULL : &a->b->spans[t->root];
    struct sf_buf *row = sf_remote_outbox_row(a->o, shard_of(a, t->id), SF_SHIP_TRACES, t->day);
    span_rows_add_tenant_day(row, a->tenant, t->day);
    sf_buf_add(row, t->id.b, sizeof(t->id.b));
    sf_buf_add_u64le(row, t->start_ns);
    sf_buf_add_u64le(row, t->end_ns);
    span_rows_add_services(a, row, t);
    sf_row_add_str(row, root ? a->b->resources[root->resource].service : SF_STR_NONE);
    sf_row_add_str(row, root ? root->name : SF_STR_NONE);
    sf_buf_add_u32le(row, t->n_spans);
    sf_buf_add_u32le(row, t->n_errors);
    sf_buf_add_u64le(row, a->o->batch);
    sf_buf_add_u32le(row, t->first_bucket);
    sf_buf_add_u32le(row, t->last_bucket);
}

/* ---- all ---- */

static bool span_rows_prepare(struct adding *a)
{
    const struct sf_span_batch *b = a->b;
    a->resources = sf_heap_new_n((size_t)b->n_resources + 1, sizeof(*a->resources));
    a->scopes = sf_heap_new_n((size_t)b->n_scopes + 1, sizeof(*a->scopes));
    a->next = sf_heap_new_n((size_t)b->n_spans + 1, sizeof(*a->next));
    if (!a->resources || !a->scopes || !a->next)
        return false;
    for (uint32_t i = 0; i < b->n_resources; i++) {
        sf_bytes body = resource_body(a, &b->resources[i]);
        a->resources[i] = sf_hash(body.p, body.len);
    }
    for (uint32_t i = 0; i < b->n_scopes; i++) {
        sf_bytes body = scope_body(a, &b->scopes[i]);
        a->scopes[i] = sf_hash(body.p, body.len);
    }
    return sf_buf_ok(&a->scratch);
}

void sf_span_rows_add(struct sf_remote_outbox *o, sf_str tenant, int64_t recv_ns,
                      const struct sf_span_batch *b)
{
    struct adding a = {.o = o, .tenant = tenant, .recv_ns = recv_ns, .b = b};
    bool is_ready = span_rows_prepare(&a);
    for (uint32_t i = 0; is_ready && i < b->n_spans; i++) {
        const struct sf_span *s = &b->spans[i];
        int64_t at_ns = sf_remote_outbox_time(s->start_ns, recv_ns);
        if (sf_outbox_is_erased(o, s->trace_id, b->resources[s->resource].service, s->start_ns))
            continue;
        span_rows_add_span(&a, s, shard_of(&a, s->trace_id), at_ns);
        note_trace(&a, i, at_ns);
    }
    for (uint32_t i = 0; is_ready && !o->is_short && i < a.n_traces; i++)
        span_rows_add_trace(&a, &a.traces[i]);
    if (!is_ready || a.scratch.err)
        o->is_short = true;
    sf_buf_done(&a.scratch);
    sf_table_done(&a.at);
    sf_heap_free(a.traces);
    sf_heap_free(a.next);
    sf_heap_free(a.scopes);
    sf_heap_free(a.resources);
}
