/* The normalised form of a span batch (log kind SF_LOG_BATCH), version 1. All numbers are LEB128
 * varints unless said otherwise; zz is zigzag.
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
 * Each distinct string is in it once, where it first occurs, so the reader needs one table (its
 * size is n_strings) and hands out views. The bytes are compressed afterwards; a smarter packing of
 * ids and times would win little here and belongs to blocks. Valid if and only if every count fits
 * what is left, every number of a string was given before, every place is in its list, lists inside
 * values are well-formed, and nothing is left at the end. */
#include "model/batch_codec.h"

#include "base/hash.h"
#include "base/heap.h"
#include "base/limits.h"
#include "base/num.h"
#include "model/value_list.h"

enum { VERSION = 1 };

/* ---- encode ---- */

struct slot {
    uint32_t hash;
    uint32_t number; /* 0: free */
    sf_str s;
};

struct encoder {
    struct sf_buf *out;
    struct slot *slots; /* open addressing, at most half full */
    uint32_t n_slots, n_strings;
};

static void put_varint(struct sf_buf *out, uint64_t v)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    sf_buf_add(out, bytes, n);
}

static void put_zigzag(struct sf_buf *out, int64_t v)
{
    put_varint(out, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

static void out_of_memory(struct encoder *e)
{
    if (sf_buf_ok(e->out))
        e->out->err = SF_ERR_NOMEM;
}

static bool grow_table(struct encoder *e)
{
    uint32_t n = e->n_slots ? e->n_slots * 2 : 1024;
    struct slot *slots;

    if (n > 1u << 28)
        slots = NULL;
    else
        slots = sf_heap_new_n(n, sizeof(*slots));
    if (!slots) {
        out_of_memory(e);
        return false;
    }
    for (uint32_t i = 0; i < e->n_slots; i++) {
        uint32_t at = e->slots[i].hash & (n - 1);
        if (!e->slots[i].number)
            continue;
        while (slots[at].number)
            at = (at + 1) & (n - 1);
        slots[at] = e->slots[i];
    }
    sf_heap_free(e->slots);
    e->slots = slots;
    e->n_slots = n;
    return true;
}

static void put_str(struct encoder *e, sf_str s)
{
    uint32_t hash = (uint32_t)sf_hash_str(s), at;

    if (!sf_buf_ok(e->out) || (e->n_strings >= e->n_slots / 2 && !grow_table(e)))
        return;
    at = hash & (e->n_slots - 1);
    while (e->slots[at].number) {
        if (e->slots[at].hash == hash && sf_str_eq(e->slots[at].s, s)) {
            put_varint(e->out, e->slots[at].number);
            return;
        }
        at = (at + 1) & (e->n_slots - 1);
    }
    e->slots[at] = (struct slot){hash, ++e->n_strings, s};
    sf_buf_add_u8(e->out, 0);
    put_varint(e->out, s.len);
    sf_buf_add_str(e->out, s);
}

static void put_value(struct encoder *e, struct sf_value val)
{
    sf_buf_add_u8(e->out, (uint8_t)val.type);
    switch (val.type) {
    case SF_VALUE_EMPTY: break;
    case SF_VALUE_BOOL: sf_buf_add_u8(e->out, val.is_true); break;
    case SF_VALUE_INT: put_zigzag(e->out, val.i64); break;
    case SF_VALUE_DOUBLE: sf_buf_add_u64le(e->out, sf_load_u64le(&val.f64)); break;
    case SF_VALUE_STR:
    case SF_VALUE_BYTES:
    case SF_VALUE_ARRAY:
    case SF_VALUE_KVLIST: put_str(e, val.str); break;
    default: SF_ASSERT(val.type < SF_VALUE_TYPES && val.type != SF_VALUE_NONE);
    }
}

static void put_attrs(struct encoder *e, struct sf_attrs attrs)
{
    put_varint(e->out, attrs.n);
    for (uint32_t i = 0; i < attrs.n; i++) {
        put_str(e, attrs.list[i].key);
        put_value(e, attrs.list[i].val);
    }
}

static void put_resource(struct encoder *e, const struct sf_resource *r)
{
    put_attrs(e, r->attrs);
    put_str(e, r->schema_url);
    put_str(e, r->service);
    put_varint(e->out, r->dropped_attrs);
}

static void put_scope(struct encoder *e, const struct sf_scope *sc)
{
    put_str(e, sc->name);
    put_str(e, sc->version);
    put_str(e, sc->schema_url);
    put_attrs(e, sc->attrs);
    put_varint(e->out, sc->dropped_attrs);
}

static void put_span(struct encoder *e, const struct sf_span *s, uint64_t previous_ns)
{
    put_varint(e->out, s->resource);
    put_varint(e->out, s->scope);
    sf_buf_add(e->out, s->trace_id.b, sizeof(s->trace_id.b));
    sf_buf_add_u64le(e->out, s->span_id);
    sf_buf_add_u64le(e->out, s->parent_id);
    put_zigzag(e->out, (int64_t)(s->start_ns - previous_ns));
    put_zigzag(e->out, (int64_t)(s->end_ns - s->start_ns));
    sf_buf_add_u8(e->out, (uint8_t)(s->kind | s->status << 4));
    put_str(e, s->name);
    put_str(e, s->status_msg);
    put_str(e, s->trace_state);
    put_varint(e->out, s->flags);
    put_attrs(e, s->attrs);
    put_varint(e->out, s->n_events);
    for (uint32_t i = 0; i < s->n_events; i++) {
        put_zigzag(e->out, (int64_t)(s->events[i].time_ns - s->start_ns));
        put_str(e, s->events[i].name);
        put_attrs(e, s->events[i].attrs);
        put_varint(e->out, s->events[i].dropped_attrs);
    }
    put_varint(e->out, s->n_links);
    for (uint32_t i = 0; i < s->n_links; i++) {
        sf_buf_add(e->out, s->links[i].trace_id.b, sizeof(s->links[i].trace_id.b));
        sf_buf_add_u64le(e->out, s->links[i].span_id);
        put_str(e, s->links[i].trace_state);
        put_varint(e->out, s->links[i].flags);
        put_attrs(e, s->links[i].attrs);
        put_varint(e->out, s->links[i].dropped_attrs);
    }
    put_varint(e->out, s->dropped_attrs);
    put_varint(e->out, s->dropped_events);
    put_varint(e->out, s->dropped_links);
}

void sf_span_batch_encode(const struct sf_span_batch *batch, struct sf_buf *out)
{
    struct encoder e = {.out = out};
    size_t count_at;

    sf_buf_add_u8(out, VERSION);
    count_at = out->len;
    sf_buf_add_u32le(out, 0);
    put_varint(out, batch->n_resources);
    put_varint(out, batch->n_scopes);
    put_varint(out, batch->n_spans);
    for (uint32_t i = 0; i < batch->n_resources; i++)
        put_resource(&e, &batch->resources[i]);
    for (uint32_t i = 0; i < batch->n_scopes; i++)
        put_scope(&e, &batch->scopes[i]);
    for (uint32_t i = 0; i < batch->n_spans; i++)
        put_span(&e, &batch->spans[i], i ? batch->spans[i - 1].start_ns : 0);
    if (sf_buf_ok(out))
        sf_store_u32le(out->p + count_at, e.n_strings);
    sf_heap_free(e.slots);
}

/* ---- decode ---- */

struct decoder {
    const uint8_t *at, *end, *start;
    struct sf_arena *req;
    sf_str *strings; /* by number, less one */
    uint32_t n_strings, max_strings;
    const char *fault;
    size_t fault_off;
    bool is_arena_full;
};

static void fail(struct decoder *d, const char *fault)
{
    if (!d->fault) {
        d->fault = fault;
        d->fault_off = (size_t)(d->at - d->start);
    }
    d->at = d->end; /* later reads give zero */
}

static const uint8_t *get_raw(struct decoder *d, size_t len)
{
    static const uint8_t zeros[16];
    const uint8_t *p = d->at;
    if (len > (size_t)(d->end - d->at)) {
        fail(d, "cut off");
        return zeros; /* callers of variable length ask for the fault first */
    }
    d->at += len;
    return p;
}

static uint8_t get_u8(struct decoder *d)
{
    return *get_raw(d, 1);
}

static uint64_t get_u64le(struct decoder *d)
{
    return sf_load_u64le(get_raw(d, 8));
}

static uint64_t get_varint(struct decoder *d)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = get_u8(d);
        if (shift == 63 && byte > 1)
            break;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return v;
    }
    fail(d, "a number longer than 64 bits");
    return 0;
}

static uint32_t get_u32(struct decoder *d)
{
    uint64_t v = get_varint(d);
    if (v <= UINT32_MAX)
        return (uint32_t)v;
    fail(d, "a number longer than 32 bits");
    return 0;
}

static int64_t get_zigzag(struct decoder *d)
{
    uint64_t v = get_varint(d);
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

/* A count of things that take at least `least` bytes each: more than fit are never believed. */
static uint32_t get_count(struct decoder *d, size_t least)
{
    uint64_t n = get_varint(d);
    if (n <= (size_t)(d->end - d->at) / least && n <= UINT32_MAX)
        return (uint32_t)n;
    fail(d, "a count of more than there is");
    return 0;
}

static void *new_list(struct decoder *d, size_t n, size_t size)
{
    void *p;
    if (n == 0)
        return NULL;
    p = sf_arena_new_n(d->req, n, size);
    if (!p) {
        d->is_arena_full = true;
        fail(d, "no room");
    }
    return p;
}

static sf_str get_str(struct decoder *d)
{
    uint64_t number = get_varint(d), len;
    sf_str s;
    if (number) {
        if (number <= d->n_strings)
            return d->strings[number - 1];
        fail(d, "a string that was not given");
        return SF_STR_NONE;
    }
    if (d->fault)
        return SF_STR_NONE;
    len = get_varint(d);
    if (len > (size_t)(d->end - d->at)) {
        fail(d, "a string is cut off");
        return SF_STR_NONE;
    }
    if (d->n_strings == d->max_strings) {
        fail(d, "more strings than were counted");
        return SF_STR_NONE;
    }
    s = (sf_str){(const char *)d->at, (size_t)len};
    d->at += len;
    d->strings[d->n_strings++] = s;
    return s;
}

static struct sf_value get_value(struct decoder *d)
{
    struct sf_value val = {.type = (enum sf_value_type)get_u8(d)};
    const char *fault;
    uint64_t bits;
    size_t off;

    switch (val.type) {
    case SF_VALUE_EMPTY: break;
    case SF_VALUE_BOOL:
        bits = get_u8(d);
        if (bits > 1)
            fail(d, "a truth value that is neither");
        val.is_true = bits == 1;
        break;
    case SF_VALUE_INT: val.i64 = get_zigzag(d); break;
    case SF_VALUE_DOUBLE:
        bits = get_u64le(d);
        memcpy(&val.f64, &bits, sizeof(val.f64));
        break;
    case SF_VALUE_STR:
    case SF_VALUE_BYTES: val.str = get_str(d); break;
    case SF_VALUE_ARRAY:
    case SF_VALUE_KVLIST:
        val.str = get_str(d);
        if (!sf_value_list_check(val.type, val.str, &off, &fault))
            fail(d, fault);
        break;
    default: fail(d, "an unknown type of value"); break;
    }
    return val;
}

static struct sf_attrs get_attrs(struct decoder *d)
{
    uint32_t n = get_count(d, 2);
    struct sf_attr *list = new_list(d, n, sizeof(*list));
    if (!list)
        return (struct sf_attrs){0};
    for (uint32_t i = 0; i < n && !d->fault; i++) {
        list[i].key = get_str(d);
        list[i].val = get_value(d);
    }
    return (struct sf_attrs){list, n};
}

static struct sf_resource get_resource(struct decoder *d)
{
    struct sf_resource r = {.attrs = get_attrs(d)};
    r.schema_url = get_str(d);
    r.service = get_str(d);
    r.dropped_attrs = get_u32(d);
    return r;
}

static struct sf_scope get_scope(struct decoder *d)
{
    struct sf_scope sc = {.name = get_str(d)};
    sc.version = get_str(d);
    sc.schema_url = get_str(d);
    sc.attrs = get_attrs(d);
    sc.dropped_attrs = get_u32(d);
    return sc;
}

static sf_trace_id get_trace_id(struct decoder *d)
{
    sf_trace_id id;
    memcpy(id.b, get_raw(d, sizeof(id.b)), sizeof(id.b));
    if (!d->fault && sf_trace_id_is_zero(id))
        fail(d, "a trace id of zero");
    return id;
}

static sf_span_id get_span_id(struct decoder *d)
{
    sf_span_id id = get_u64le(d);
    if (!d->fault && id == 0)
        fail(d, "a span id of zero");
    return id;
}

static void get_events(struct decoder *d, struct sf_span *s)
{
    uint32_t n = get_count(d, 4);
    struct sf_event *events = new_list(d, n, sizeof(*events));
    for (uint32_t i = 0; i < n && !d->fault; i++) {
        events[i].time_ns = s->start_ns + (uint64_t)get_zigzag(d);
        events[i].name = get_str(d);
        events[i].attrs = get_attrs(d);
        events[i].dropped_attrs = get_u32(d);
    }
    s->events = events;
    s->n_events = events ? n : 0;
}

static void get_links(struct decoder *d, struct sf_span *s)
{
    uint32_t n = get_count(d, 28);
    struct sf_link *links = new_list(d, n, sizeof(*links));
    for (uint32_t i = 0; i < n && !d->fault; i++) {
        links[i].trace_id = get_trace_id(d);
        links[i].span_id = get_span_id(d);
        links[i].trace_state = get_str(d);
        links[i].flags = get_u32(d);
        links[i].attrs = get_attrs(d);
        links[i].dropped_attrs = get_u32(d);
    }
    s->links = links;
    s->n_links = links ? n : 0;
}

static void get_span(struct decoder *d, const struct sf_span_batch *batch, uint64_t previous_ns,
                     struct sf_span *s)
{
    uint8_t kinds;
    s->resource = get_u32(d);
    s->scope = get_u32(d);
    s->trace_id = get_trace_id(d);
    s->span_id = get_span_id(d);
    s->parent_id = get_u64le(d);
    s->start_ns = previous_ns + (uint64_t)get_zigzag(d);
    s->end_ns = s->start_ns + (uint64_t)get_zigzag(d);
    kinds = get_u8(d);
    s->kind = kinds & 15;
    s->status = kinds >> 4;
    if (s->resource >= batch->n_resources || s->scope >= batch->n_scopes || s->kind >= SF_KINDS ||
        s->status >= SF_STATUSES)
        fail(d, "a span of no known resource, scope, kind or status");
    s->name = get_str(d);
    s->status_msg = get_str(d);
    s->trace_state = get_str(d);
    s->flags = get_u32(d);
    s->attrs = get_attrs(d);
    get_events(d, s);
    get_links(d, s);
    s->dropped_attrs = get_u32(d);
    s->dropped_events = get_u32(d);
    s->dropped_links = get_u32(d);
}

enum { LEAST_RESOURCE = 4, LEAST_SCOPE = 5, LEAST_SPAN = 47 }; /* bytes of the emptiest one */

static void get_batch(struct decoder *d, struct sf_span_batch *batch)
{
    struct sf_resource *resources;
    struct sf_scope *scopes;
    struct sf_span *spans;

    batch->n_resources = get_count(d, LEAST_RESOURCE);
    batch->n_scopes = get_count(d, LEAST_SCOPE);
    batch->n_spans = get_count(d, LEAST_SPAN);
    batch->resources = resources = new_list(d, batch->n_resources, sizeof(*resources));
    batch->scopes = scopes = new_list(d, batch->n_scopes, sizeof(*scopes));
    batch->spans = spans = new_list(d, batch->n_spans, sizeof(*spans));
    for (uint32_t i = 0; i < batch->n_resources && !d->fault; i++)
        resources[i] = get_resource(d);
    for (uint32_t i = 0; i < batch->n_scopes && !d->fault; i++)
        scopes[i] = get_scope(d);
    for (uint32_t i = 0; i < batch->n_spans && !d->fault; i++)
        get_span(d, batch, i ? spans[i - 1].start_ns : 0, &spans[i]);
    if (!d->fault && d->at != d->end)
        fail(d, "bytes behind the end");
    if (!d->fault && d->n_strings != d->max_strings)
        fail(d, "fewer strings than were counted");
}

enum sf_err sf_span_batch_decode(sf_bytes in, struct sf_arena *req, struct sf_span_batch *out,
                                 struct sf_why *why)
{
    const uint8_t *p = in.p ? in.p : (const uint8_t *)"";
    struct decoder d = {.at = p, .end = p + in.len, .start = p, .req = req};
    struct sf_span_batch batch = {0};
    uint8_t version = get_u8(&d);

    if (!d.fault && version != VERSION)
        return sf_fail(why, SF_ERR_UNSUPPORTED, "batch: version %u, this server reads %u", version,
                       VERSION);
    d.max_strings = sf_load_u32le(get_raw(&d, 4));
    if (d.max_strings > (size_t)(d.end - d.at) / 2)
        fail(&d, "a count of more than there is");
    else
        d.strings = new_list(&d, d.max_strings, sizeof(*d.strings));
    if (!d.fault)
        get_batch(&d, &batch);
    if (d.is_arena_full)
        return sf_fail(why, SF_ERR_LIMIT, "batch: decoded, it needs more than %zu bytes", req->cap);
    if (d.fault)
        return sf_fail(why, SF_ERR_CORRUPT, "batch: %s at byte %zu", d.fault, d.fault_off);
    *out = batch;
    return SF_OK;
}
