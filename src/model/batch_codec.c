/* The normalised form of a span batch (log kind SF_LOG_BATCH), version 1. All numbers are LEB128
 * varints unless given otherwise; zz is zigzag.
 *
 *     batch    := u8 version | u32le n_strings | n_resources n_scopes n_spans
 *                 resource* scope* span*
 *     string   := 0 | len bytes      a new one; it gets the next number, counted from 1
 *               | number             one that was there before
 *     attrs    := n (key:string value)*
 *     value    := u8 type, then STR, BYTES, ARRAY, KVLIST: string; BOOL: u8; INT: zz;
 *                 DOUBLE: u64le; EMPTY: nothing
 *     resource := attrs schema_url:string service:string dropped
 *     scope    := name:string version:string schema_url:string attrs dropped
 *     span     := resource scope trace_id:16 bytes span_id:u64le parent_id:u64le
 *                 zz(start - previous span's start) zz(end - start)      both modulo 2^64
 *                 u8 kind | u8 status << 4, name:string status_msg:string trace_state:string flags
 *                 attrs n_events event* n_links link* dropped_attrs dropped_events dropped_links
 *     event    := zz(time - span's start) name:string attrs dropped
 *     link     := trace_id:16 bytes span_id:u64le trace_state:string flags attrs dropped
 *
 * Each distinct string is stored once, where it first occurs, so the reader needs one table (of
 * n_strings entries) and returns views. The bytes are compressed afterwards; a better packing of
 * ids and times would gain little here and belongs to blocks. Valid if and only if every count fits
 * the remaining bytes, every string number was defined before, every index is in its list, lists
 * inside values are well-formed, and no bytes are left at the end. */
#include "model/batch_codec.h"

#include "base/num.h"
#include "model/codec.h"
#include "model/value_list.h"

enum { VERSION = 1 };

/* ---- encode ---- */

static void batch_codec_put_value(struct sf_encoder *e, struct sf_value val)
{
    sf_buf_add_u8(e->out, (uint8_t)val.type);
    switch (val.type) {
    case SF_VALUE_EMPTY: break;
    case SF_VALUE_BOOL: sf_buf_add_u8(e->out, val.is_true); break;
    case SF_VALUE_INT: sf_codec_put_zigzag(e->out, val.i64); break;
    case SF_VALUE_DOUBLE: sf_buf_add_u64le(e->out, sf_load_u64le(&val.f64)); break;
    case SF_VALUE_STR:
    case SF_VALUE_BYTES:
    case SF_VALUE_ARRAY:
    case SF_VALUE_KVLIST: sf_codec_put_str(e, val.str); break;
    default: SF_ASSERT(val.type < SF_VALUE_TYPES && val.type != SF_VALUE_NONE);
    }
}

static void batch_codec_put_attrs(struct sf_encoder *e, struct sf_attrs attrs)
{
    sf_buf_add_varint(e->out, attrs.n);
    for (uint32_t i = 0; i < attrs.n; i++) {
        sf_codec_put_str(e, attrs.list[i].key);
        batch_codec_put_value(e, attrs.list[i].val);
    }
}

static void put_resource(struct sf_encoder *e, const struct sf_resource *r)
{
    batch_codec_put_attrs(e, r->attrs);
    sf_codec_put_str(e, r->schema_url);
    sf_codec_put_str(e, r->service);
    sf_buf_add_varint(e->out, r->dropped_attrs);
}

static void put_scope(struct sf_encoder *e, const struct sf_scope *sc)
{
    sf_codec_put_str(e, sc->name);
    sf_codec_put_str(e, sc->version);
    sf_codec_put_str(e, sc->schema_url);
    batch_codec_put_attrs(e, sc->attrs);
    sf_buf_add_varint(e->out, sc->dropped_attrs);
}

static void put_span(struct sf_encoder *e, const struct sf_span *s, uint64_t previous_ns)
{
    sf_buf_add_varint(e->out, s->resource);
    sf_buf_add_varint(e->out, s->scope);
    sf_buf_add(e->out, s->trace_id.b, sizeof(s->trace_id.b));
    sf_buf_add_u64le(e->out, s->span_id);
    sf_buf_add_u64le(e->out, s->parent_id);
    sf_codec_put_zigzag(e->out, (int64_t)(s->start_ns - previous_ns));
    sf_codec_put_zigzag(e->out, (int64_t)(s->end_ns - s->start_ns));
    sf_buf_add_u8(e->out, (uint8_t)(s->kind | s->status << 4));
    sf_codec_put_str(e, s->name);
    sf_codec_put_str(e, s->status_msg);
    sf_codec_put_str(e, s->trace_state);
    sf_buf_add_varint(e->out, s->flags);
    batch_codec_put_attrs(e, s->attrs);
    sf_buf_add_varint(e->out, s->n_events);
    for (uint32_t i = 0; i < s->n_events; i++) {
        sf_codec_put_zigzag(e->out, (int64_t)(s->events[i].time_ns - s->start_ns));
        sf_codec_put_str(e, s->events[i].name);
        batch_codec_put_attrs(e, s->events[i].attrs);
        sf_buf_add_varint(e->out, s->events[i].dropped_attrs);
    }
    sf_buf_add_varint(e->out, s->n_links);
    for (uint32_t i = 0; i < s->n_links; i++) {
        sf_buf_add(e->out, s->links[i].trace_id.b, sizeof(s->links[i].trace_id.b));
        sf_buf_add_u64le(e->out, s->links[i].span_id);
        sf_codec_put_str(e, s->links[i].trace_state);
        sf_buf_add_varint(e->out, s->links[i].flags);
        batch_codec_put_attrs(e, s->links[i].attrs);
        sf_buf_add_varint(e->out, s->links[i].dropped_attrs);
    }
    sf_buf_add_varint(e->out, s->dropped_attrs);
    sf_buf_add_varint(e->out, s->dropped_events);
    sf_buf_add_varint(e->out, s->dropped_links);
}

void sf_batch_codec_encode(const struct sf_span_batch *batch, struct sf_buf *out)
{
    struct sf_encoder e;

    sf_codec_put_begin(&e, VERSION, out);
    sf_buf_add_varint(out, batch->n_resources);
    sf_buf_add_varint(out, batch->n_scopes);
    sf_buf_add_varint(out, batch->n_spans);
    for (uint32_t i = 0; i < batch->n_resources; i++)
        put_resource(&e, &batch->resources[i]);
    for (uint32_t i = 0; i < batch->n_scopes; i++)
        put_scope(&e, &batch->scopes[i]);
    for (uint32_t i = 0; i < batch->n_spans; i++)
        put_span(&e, &batch->spans[i], i ? batch->spans[i - 1].start_ns : 0);
    sf_codec_put_end(&e);
}

/* ---- decode ---- */

static struct sf_value batch_codec_get_value(struct sf_decoder *d)
{
    struct sf_value val = {.type = (enum sf_value_type)sf_codec_get_u8(d)};
    const char *fault;
    uint64_t bits;
    size_t off;

    switch (val.type) {
    case SF_VALUE_EMPTY: break;
    case SF_VALUE_BOOL:
        bits = sf_codec_get_u8(d);
        if (bits > 1)
            sf_codec_get_fail(d, "a truth value that is neither");
        val.is_true = bits == 1;
        break;
    case SF_VALUE_INT: val.i64 = sf_codec_get_zigzag(d); break;
    case SF_VALUE_DOUBLE:
        bits = sf_codec_get_u64le(d);
        memcpy(&val.f64, &bits, sizeof(val.f64));
        break;
    case SF_VALUE_STR:
    case SF_VALUE_BYTES: val.str = sf_codec_get_str(d); break;
    case SF_VALUE_ARRAY:
    case SF_VALUE_KVLIST:
        val.str = sf_codec_get_str(d);
        if (!sf_value_list_check(val.type, val.str, &off, &fault))
            sf_codec_get_fail(d, fault);
        break;
    default: sf_codec_get_fail(d, "an unknown type of value"); break;
    }
    return val;
}

static struct sf_attrs batch_codec_get_attrs(struct sf_decoder *d)
{
    uint32_t n = sf_codec_get_count(d, 2);
    struct sf_attr *list = sf_codec_get_list(d, n, sizeof(*list));
    if (!list)
        return (struct sf_attrs){0};
    for (uint32_t i = 0; i < n && !d->fault; i++) {
        list[i].key = sf_codec_get_str(d);
        list[i].val = batch_codec_get_value(d);
    }
    return (struct sf_attrs){list, n};
}

static struct sf_resource get_resource(struct sf_decoder *d)
{
    struct sf_resource r = {.attrs = batch_codec_get_attrs(d)};
    r.schema_url = sf_codec_get_str(d);
    r.service = sf_codec_get_str(d);
    r.dropped_attrs = sf_codec_get_u32(d);
    return r;
}

static struct sf_scope get_scope(struct sf_decoder *d)
{
    struct sf_scope sc = {.name = sf_codec_get_str(d)};
    sc.version = sf_codec_get_str(d);
    sc.schema_url = sf_codec_get_str(d);
    sc.attrs = batch_codec_get_attrs(d);
    sc.dropped_attrs = sf_codec_get_u32(d);
    return sc;
}

static sf_trace_id get_trace_id(struct sf_decoder *d)
{
    sf_trace_id id;
    memcpy(id.b, sf_codec_get_raw(d, sizeof(id.b)), sizeof(id.b));
    if (!d->fault && sf_trace_id_is_zero(id))
        sf_codec_get_fail(d, "a trace id of zero");
    return id;
}

static sf_span_id get_span_id(struct sf_decoder *d)
{
    sf_span_id id = sf_codec_get_u64le(d);
    if (!d->fault && id == 0)
        sf_codec_get_fail(d, "a span id of zero");
    return id;
}

static void batch_codec_get_events(struct sf_decoder *d, struct sf_span *s)
{
    uint32_t n = sf_codec_get_count(d, 4);
    struct sf_event *events = sf_codec_get_list(d, n, sizeof(*events));
    for (uint32_t i = 0; i < n && !d->fault; i++) {
        events[i].time_ns = s->start_ns + (uint64_t)sf_codec_get_zigzag(d);
        events[i].name = sf_codec_get_str(d);
        events[i].attrs = batch_codec_get_attrs(d);
        events[i].dropped_attrs = sf_codec_get_u32(d);
    }
    s->events = events;
    s->n_events = events ? n : 0;
}

static void batch_codec_get_links(struct sf_decoder *d, struct sf_span *s)
{
    uint32_t n = sf_codec_get_count(d, 28);
    struct sf_link *links = sf_codec_get_list(d, n, sizeof(*links));
    for (uint32_t i = 0; i < n && !d->fault; i++) {
        links[i].trace_id = get_trace_id(d);
        links[i].span_id = get_span_id(d);
        links[i].trace_state = sf_codec_get_str(d);
        links[i].flags = sf_codec_get_u32(d);
        links[i].attrs = batch_codec_get_attrs(d);
        links[i].dropped_attrs = sf_codec_get_u32(d);
    }
    s->links = links;
    s->n_links = links ? n : 0;
}

static void get_span(struct sf_decoder *d, const struct sf_span_batch *batch, uint64_t previous_ns,
                     struct sf_span *s)
{
    uint8_t kinds;
    s->resource = sf_codec_get_u32(d);
    s->scope = sf_codec_get_u32(d);
    s->trace_id = get_trace_id(d);
    s->span_id = get_span_id(d);
    s->parent_id = sf_codec_get_u64le(d);
    s->start_ns = previous_ns + (uint64_t)sf_codec_get_zigzag(d);
    s->end_ns = s->start_ns + (uint64_t)sf_codec_get_zigzag(d);
    kinds = sf_codec_get_u8(d);
    s->kind = kinds & 15;
    s->status = kinds >> 4;
    if (s->resource >= batch->n_resources || s->scope >= batch->n_scopes || s->kind >= SF_KINDS ||
        s->status >= SF_STATUSES)
        sf_codec_get_fail(d, "a span of no known resource, scope, kind or status");
    s->name = sf_codec_get_str(d);
    s->status_msg = sf_codec_get_str(d);
    s->trace_state = sf_codec_get_str(d);
    s->flags = sf_codec_get_u32(d);
    s->attrs = batch_codec_get_attrs(d);
    batch_codec_get_events(d, s);
    batch_codec_get_links(d, s);
    s->dropped_attrs = sf_codec_get_u32(d);
    s->dropped_events = sf_codec_get_u32(d);
    s->dropped_links = sf_codec_get_u32(d);
}

enum { LEAST_RESOURCE = 4, LEAST_SCOPE = 5, LEAST_SPAN = 47 }; /* minimum length of each in bytes */

static void batch_codec_get_batch(struct sf_decoder *d, struct sf_span_batch *batch)
{
    struct sf_resource *resources;
    struct sf_scope *scopes;
    struct sf_span *spans;

    batch->n_resources = sf_codec_get_count(d, LEAST_RESOURCE);
    batch->n_scopes = sf_codec_get_count(d, LEAST_SCOPE);
    batch->n_spans = sf_codec_get_count(d, LEAST_SPAN);
    batch->resources = resources = sf_codec_get_list(d, batch->n_resources, sizeof(*resources));
    batch->scopes = scopes = sf_codec_get_list(d, batch->n_scopes, sizeof(*scopes));
    batch->spans = spans = sf_codec_get_list(d, batch->n_spans, sizeof(*spans));
    for (uint32_t i = 0; i < batch->n_resources && !d->fault; i++)
        resources[i] = get_resource(d);
    for (uint32_t i = 0; i < batch->n_scopes && !d->fault; i++)
        scopes[i] = get_scope(d);
    for (uint32_t i = 0; i < batch->n_spans && !d->fault; i++)
        get_span(d, batch, i ? spans[i - 1].start_ns : 0, &spans[i]);
}

enum sf_err sf_batch_codec_decode(sf_bytes in, struct sf_arena *req, struct sf_span_batch *out,
                                  struct sf_why *why)
{
    struct sf_decoder d;
    struct sf_span_batch batch = {0};
    enum sf_err err = sf_codec_get_begin(&d, in, VERSION, req, why);

    if (err)
        return err;
    if (!d.fault)
        batch_codec_get_batch(&d, &batch);
    err = sf_codec_get_end(&d, why);
    if (!err)
        *out = batch;
    return err;
}
