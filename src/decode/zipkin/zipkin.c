/* zipkin.c - translates Zipkin spans into an OTLP request. Two passes over the body: the first
 * lists spans shared by client and server, the second writes each span, giving the server's half an
 * id of its own. Consecutive spans of one service share a ResourceSpans message. */
#include "decode/zipkin/zipkin.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/heap.h"
#include "base/key.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "decode/zipkin/zipkin_span.h"
#include "wire/pb_write.h"

/* Fields of OTLP's messages. */
enum { REQUEST_RESOURCE_SPANS = 1, RESOURCE_SPANS_RESOURCE = 1, RESOURCE_SPANS_SCOPE_SPANS = 2 };
enum { RESOURCE_ATTRS = 1, SCOPE_SPANS_SCOPE = 1, SCOPE_SPANS_SPANS = 2 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum {
    SPAN_TRACE_ID = 1,
    SPAN_ID = 2,
    SPAN_PARENT_ID = 4,
    SPAN_NAME = 5,
    SPAN_KIND = 6,
    SPAN_START = 7,
    SPAN_END = 8,
    SPAN_ATTRS = 9,
    SPAN_EVENTS = 11,
    SPAN_STATUS = 15
};
enum { EVENT_TIME = 1, EVENT_NAME = 2, STATUS_TEXT = 2, STATUS_CODE = 3 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2, VALUE_STR = 1, VALUE_BOOL = 2, VALUE_INT = 3 };
enum { CODE_OK = 1, CODE_ERROR = 2, KIND_INTERNAL = 1, KIND_SERVER = 2 };

enum { MAX_SHARED = 100000 };

/* ---- parts of a span ---- */

/* A key and the start of its value; write_attr_end() ends both. */
struct attr {
    size_t whole, value;
};

static struct attr write_attr_begin(struct sf_buf *out, uint32_t field, sf_str key)
{
    struct attr a = {.whole = sf_pb_write_begin(out, field)};
    sf_pb_write_str(out, KEY_VALUE_KEY, key);
    a.value = sf_pb_write_begin(out, KEY_VALUE_VALUE);
    return a;
}

static void write_attr_end(struct sf_buf *out, struct attr a)
{
    sf_pb_write_end(out, a.value);
    sf_pb_write_end(out, a.whole);
}

static void write_attr(struct sf_buf *out, uint32_t field, sf_str key, sf_str val)
{
    struct attr a = write_attr_begin(out, field, key);
    sf_pb_write_str(out, VALUE_STR, val);
    write_attr_end(out, a);
}

static void write_int_attr(struct sf_buf *out, uint32_t field, sf_str key, uint64_t val)
{
    struct attr a = write_attr_begin(out, field, key);
    sf_pb_write_u64(out, VALUE_INT, val);
    write_attr_end(out, a);
}

static void write_bool_attr(struct sf_buf *out, uint32_t field, sf_str key, bool val)
{
    struct attr a = write_attr_begin(out, field, key);
    sf_pb_write_bool(out, VALUE_BOOL, val);
    write_attr_end(out, a);
}

void sf_zipkin_add_tag(struct sf_zipkin_span *s, sf_str key, sf_str val)
{
    /* Tags that OpenTelemetry's exporters write for a status and a scope; the second names are
     * those of older ones. */
    if (sf_str_eq(key, SF_STR("otel.status_code"))) {
        s->status_code = val;
    } else if (sf_str_eq(key, SF_STR("otel.status_description"))) {
        s->status_text = val;
    } else if (sf_str_eq(key, SF_STR("otel.scope.name")) ||
               sf_str_eq(key, SF_STR("otel.library.name"))) {
        s->scope = val;
    } else if (sf_str_eq(key, SF_STR("otel.scope.version")) ||
               sf_str_eq(key, SF_STR("otel.library.version"))) {
        s->scope_version = val;
    } else {
        if (sf_str_eq(key, SF_STR("error"))) {
            s->has_error = true;
            s->error = val;
        }
        write_attr(s->fields, SPAN_ATTRS, key, val);
    }
}

static uint64_t zipkin_ns_of(uint64_t us)
{
    return us > UINT64_MAX / (uint64_t)SF_NS_PER_US ? UINT64_MAX : us * (uint64_t)SF_NS_PER_US;
}

void sf_zipkin_add_note(struct sf_zipkin_span *s, uint64_t time_us, sf_str text)
{
    size_t event = sf_pb_write_begin(s->fields, SPAN_EVENTS);
    sf_pb_write_fixed64(s->fields, EVENT_TIME, zipkin_ns_of(time_us));
    sf_pb_write_str(s->fields, EVENT_NAME, text);
    sf_pb_write_end(s->fields, event);
    if (time_us && (!s->first_note_us || time_us < s->first_note_us))
        s->first_note_us = time_us;
}

static void write_address(struct sf_buf *out, const struct sf_zipkin_endpoint *e, sf_str address,
                          sf_str port)
{
    if (e->ipv4.len || e->ipv6.len)
        write_attr(out, SPAN_ATTRS, address, e->ipv4.len ? e->ipv4 : e->ipv6);
    if (e->port)
        write_int_attr(out, SPAN_ATTRS, port, e->port);
}

static void write_status(struct sf_buf *out, const struct sf_zipkin_span *s)
{
    bool is_error = s->has_error || sf_str_ieq(s->status_code, SF_STR("error"));
    bool is_ok = !is_error && sf_str_ieq(s->status_code, SF_STR("ok"));
    sf_str text = s->status_text.len                     ? s->status_text
                  : sf_str_ieq(s->error, SF_STR("true")) ? SF_STR_NONE
                                                         : s->error;
    size_t mark;
    if (!is_error && !is_ok)
        return;
    mark = sf_pb_write_begin(out, SPAN_STATUS);
    if (is_error && text.len)
        sf_pb_write_str(out, STATUS_TEXT, text);
    sf_pb_write_u64(out, STATUS_CODE, is_error ? CODE_ERROR : CODE_OK);
    sf_pb_write_end(out, mark);
}

/* ---- shared spans ---- */

/* In Zipkin a server may continue its client's span with the same id. Here every span has its own
 * id: the server's part gets another one, as a child of the client's, and the children that its
 * service sends in the same request are moved to it. Children in other requests stay below the
 * client's part. */
struct shared {
    uint8_t trace_id[16], id[8];
    uint64_t service; /* a hash, because the list lives as long as one request */
};

struct translation {
    struct sf_buf *out;
    int64_t now_ns;
    struct shared *shared;
    size_t n_shared, cap_shared;
    uint64_t n_spans;
    bool is_open;
    size_t resource_mark, scope_mark;
    struct sf_buf service, scope, version; /* of the open messages */
};

static bool is_server_half(const struct sf_zipkin_span *s)
{
    return s->is_shared && s->kind == KIND_SERVER;
}

static enum sf_err note_shared(void *arg, const struct sf_zipkin_span *s, struct sf_why *why)
{
    struct translation *t = arg;
    struct shared *x;
    if (!is_server_half(s))
        return SF_OK;
    if (t->n_shared == MAX_SHARED || !sf_list_room(&t->shared, t->n_shared, &t->cap_shared, 64))
        return sf_fail(why, SF_ERR_LIMIT, "Zipkin: more than %d shared spans", MAX_SHARED);
    x = &t->shared[t->n_shared++];
    memcpy(x->trace_id, s->trace_id, 16);
    memcpy(x->id, s->id, 8);
    x->service = sf_key_str(s->local.service);
    return SF_OK;
}

static int compare_shared(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct shared));
}

static bool is_child_of_shared(const struct translation *t, const struct sf_zipkin_span *s)
{
    struct shared key;
    if (!t->n_shared || !s->has_parent_id || is_server_half(s))
        return false;
    memcpy(key.trace_id, s->trace_id, 16);
    memcpy(key.id, s->parent_id, 8);
    key.service = sf_key_str(s->local.service);
    return bsearch(&key, t->shared, t->n_shared, sizeof(key), compare_shared) != NULL;
}

/* Deterministic, so that a repeated request gives the same ids. */
static void other_id(const uint8_t id[8], uint8_t out[8])
{
    uint64_t v = sf_load_u64be(id) * UINT64_C(0x9e3779b97f4a7c15) ^ UINT64_C(0x5a69706b696e5376);
    sf_store_u64be(out, v ? v : 1);
}

/* ---- the request ---- */

static bool zipkin_is_same(const struct sf_buf *kept, sf_str s)
{
    return sf_str_eq(sf_buf_str(kept), s);
}

static void zipkin_keep(struct sf_buf *to, sf_str s)
{
    sf_buf_reset(to);
    sf_buf_add(to, s.p, s.len);
}

static void close_messages(struct translation *t)
{
    if (!t->is_open)
        return;
    sf_pb_write_end(t->out, t->scope_mark);
    sf_pb_write_end(t->out, t->resource_mark);
    t->is_open = false;
}

/* Opens the messages to which this span belongs. */
static void open_messages(struct translation *t, const struct sf_zipkin_span *s)
{
    size_t mark;
    if (t->is_open && zipkin_is_same(&t->service, s->local.service) &&
        zipkin_is_same(&t->scope, s->scope) && zipkin_is_same(&t->version, s->scope_version))
        return;
    close_messages(t);
    zipkin_keep(&t->service, s->local.service);
    zipkin_keep(&t->scope, s->scope);
    zipkin_keep(&t->version, s->scope_version);
    t->resource_mark = sf_pb_write_begin(t->out, REQUEST_RESOURCE_SPANS);
    mark = sf_pb_write_begin(t->out, RESOURCE_SPANS_RESOURCE);
    if (s->local.service.len)
        write_attr(t->out, RESOURCE_ATTRS, SF_STR("service.name"), s->local.service);
    sf_pb_write_end(t->out, mark);
    t->scope_mark = sf_pb_write_begin(t->out, RESOURCE_SPANS_SCOPE_SPANS);
    if (s->scope.len) {
        mark = sf_pb_write_begin(t->out, SCOPE_SPANS_SCOPE);
        sf_pb_write_str(t->out, SCOPE_NAME, s->scope);
        if (s->scope_version.len)
            sf_pb_write_str(t->out, SCOPE_VERSION, s->scope_version);
        sf_pb_write_end(t->out, mark);
    }
    t->is_open = true;
}

static void zipkin_write_ids(struct translation *t, const struct sf_zipkin_span *s)
{
    uint8_t id[8], parent[8];
    memcpy(id, s->id, 8);
    memcpy(parent, s->parent_id, 8);
    if (is_server_half(s)) {
        memcpy(parent, s->id, 8);
        other_id(s->id, id);
    } else if (is_child_of_shared(t, s)) {
        other_id(s->parent_id, parent);
    }
    sf_pb_write_bytes(t->out, SPAN_TRACE_ID, (sf_bytes){s->trace_id, 16});
    sf_pb_write_bytes(t->out, SPAN_ID, (sf_bytes){id, 8});
    if (s->has_parent_id || is_server_half(s))
        sf_pb_write_bytes(t->out, SPAN_PARENT_ID, (sf_bytes){parent, 8});
}

static void zipkin_write_times(struct translation *t, const struct sf_zipkin_span *s)
{
    uint64_t start_us = s->time_us ? s->time_us : s->first_note_us;
    uint64_t start_ns = start_us ? zipkin_ns_of(start_us) : (uint64_t)t->now_ns;
    uint64_t length_ns = zipkin_ns_of(s->duration_us);
    sf_pb_write_fixed64(t->out, SPAN_START, start_ns);
    sf_pb_write_fixed64(t->out, SPAN_END,
                        length_ns > UINT64_MAX - start_ns ? UINT64_MAX : start_ns + length_ns);
}

static enum sf_err zipkin_write_span(void *arg, const struct sf_zipkin_span *s, struct sf_why *why)
{
    struct translation *t = arg;
    struct sf_buf *out = t->out;
    size_t mark;
    if (++t->n_spans > SF_LIMIT_SPANS)
        return sf_fail(why, SF_ERR_LIMIT, "Zipkin: more than %u spans in one request",
                       SF_LIMIT_SPANS);
    open_messages(t, s);
    mark = sf_pb_write_begin(out, SCOPE_SPANS_SPANS);
    zipkin_write_ids(t, s);
    sf_pb_write_str(out, SPAN_NAME, s->name);
    sf_pb_write_u64(out, SPAN_KIND, s->kind ? s->kind : KIND_INTERNAL);
    zipkin_write_times(t, s);
    if (s->remote.service.len)
        write_attr(out, SPAN_ATTRS, SF_STR("peer.service"), s->remote.service);
    write_address(out, &s->remote, SF_STR("network.peer.address"), SF_STR("network.peer.port"));
    write_address(out, &s->local, SF_STR("network.local.address"), SF_STR("network.local.port"));
    if (s->is_debug)
        write_bool_attr(out, SPAN_ATTRS, SF_STR("debug"), true);
    sf_buf_add(out, s->fields->p, s->fields->len);
    write_status(out, s);
    sf_pb_write_end(out, mark);
    if (sf_buf_ok(out) && sf_buf_ok(s->fields))
        return SF_OK;
    return sf_fail(why, sf_buf_ok(out) ? s->fields->err : out->err,
                   "Zipkin: as OTLP the request would need more than %zu bytes", out->max);
}

static enum sf_err zipkin_read_spans(sf_bytes body, bool is_json, struct sf_buf *fields,
                                     sf_zipkin_see see, struct translation *t, struct sf_why *why)
{
    struct sf_arena req = {0};
    enum sf_err err;
    if (!sf_arena_init(&req, SF_LIMIT_ARENA_LEN))
        return sf_no_memory(why, "Zipkin");
    err = is_json ? sf_zipkin_json_read(body, &req, fields, see, t, why)
                  : sf_zipkin_pb_read(body, &req, fields, see, t, why);
    sf_arena_done(&req);
    return err;
}

enum sf_err sf_zipkin_to_otlp(sf_bytes body, bool is_json, int64_t now_ns, struct sf_buf *out,
                              struct sf_why *why)
{
    struct translation t = {.out = out, .now_ns = now_ns};
    struct sf_buf fields = {.max = out->max};
    enum sf_err err = SF_OK;
    size_t at;
    if (!is_json || sf_str_find((sf_str){(const char *)body.p, body.len}, SF_STR("shared"), &at))
        err = zipkin_read_spans(body, is_json, &fields, note_shared, &t, why);
    if (!err) {
        if (t.n_shared)
            qsort(t.shared, t.n_shared, sizeof(*t.shared), compare_shared);
        err = zipkin_read_spans(body, is_json, &fields, zipkin_write_span, &t, why);
    }
    close_messages(&t);
    if (!err && !sf_buf_ok(out))
        err = sf_fail(why, out->err, "Zipkin: as OTLP the request would need more than %zu bytes",
                      out->max);
    sf_buf_done(&fields);
    sf_buf_done(&t.service);
    sf_buf_done(&t.scope);
    sf_buf_done(&t.version);
    sf_heap_free(t.shared);
    return err;
}
