/* span_answer.c - reads the shards' answers (RowBinary) and builds spans from them: attributes
 * from the typed arrays in the order that `attr_types` gives, the rest from `rest`. Resources
 * and scopes are entries by id; rows refer to them by place, and their bodies are read
 * afterwards. */
#include "store/clickhouse/span_answer.h"

#include <string.h>

#include "base/list.h"
#include "base/num.h"
#include "model/batch_codec.h"
#include "model/value_list.h"
#include "wire/row_binary.h"

const char sf_span_answer_columns[] =
    "tenant, service, name, start_ns, duration_ns, trace_id, span_id, parent_id, kind, status, "
    "status_message, resource, scope, sk, sv, ik, iv, dk, dv, xk, xv, attr_types, flags, "
    "trace_state, event_ns, event_name, rest";

enum { LISTS = 4 };

struct typed { /* attributes of one type letter */
    sf_str *keys;
    struct sf_value *vals;
    uint32_t n, at;
};

struct reading {
    struct sf_span_answer *a;
    struct sf_row_reader r;
    struct sf_why *why;
    bool is_full; /* the arena */
};

void sf_span_answer_done(struct sf_span_answer *a)
{
    sf_table_done(&a->resource_at);
    sf_table_done(&a->scope_at);
}

static void span_answer_refuse(struct reading *x, const char *what)
{
    if (x->r.fault)
        return;
    x->r.fault = what;
    x->r.fault_off = (size_t)(x->r.at - x->r.start);
    x->r.at = x->r.end;
}

static void *span_answer_list_of(struct reading *x, uint32_t n, size_t size)
{
    void *p = sf_arena_new_n(x->a->req, (size_t)n + 1, size);
    if (!p)
        x->is_full = true;
    return p;
}

/* ---- attributes ---- */

bool sf_span_answer_other(sf_str raw, struct sf_value *out, const char **fault)
{
    sf_str content;
    size_t off;
    if (!raw.len) {
        *fault = "a value without a type";
        return false;
    }
    content = sf_str_from_at(raw, 1);
    *out = (struct sf_value){.type = (enum sf_value_type)(uint8_t)raw.p[0]};
    switch (out->type) {
    case SF_VALUE_EMPTY: return true;
    case SF_VALUE_BOOL: out->is_true = content.len && content.p[0]; return true;
    case SF_VALUE_BYTES: out->str = content; return true;
    case SF_VALUE_ARRAY:
    case SF_VALUE_KVLIST: out->str = content; break;
    default: *fault = "an unknown type of value"; return false;
    }
    if (sf_value_list_check(out->type, content, &off, fault))
        return true;
    *fault = "a list inside a value is damaged";
    return false;
}

static struct sf_value other_value(struct reading *x, sf_str raw)
{
    struct sf_value v = {0};
    const char *fault;
    if (!sf_span_answer_other(raw, &v, &fault))
        span_answer_refuse(x, fault);
    return v;
}

static struct sf_value span_answer_read_value(struct reading *x, char letter)
{
    struct sf_value v = {0};
    switch (letter) {
    case 's':
        v.type = SF_VALUE_STR;
        v.str = sf_row_binary_str(&x->r);
        return v;
    case 'i':
        v.type = SF_VALUE_INT;
        v.i64 = (int64_t)sf_row_binary_u64(&x->r);
        return v;
    case 'd':
        v.type = SF_VALUE_DOUBLE;
        v.f64 = sf_row_binary_f64(&x->r);
        return v;
    default: return other_value(x, sf_row_binary_str(&x->r));
    }
}

static void read_typed(struct reading *x, char letter, struct typed *t)
{
    uint32_t n;
    t->n = sf_row_binary_count(&x->r, 1);
    t->keys = span_answer_list_of(x, t->n, sizeof(*t->keys));
    for (uint32_t i = 0; t->keys && i < t->n; i++)
        t->keys[i] = sf_row_binary_str(&x->r);
    n = sf_row_binary_count(&x->r, letter == 's' || letter == 'x' ? 1 : 8);
    if (n != t->n)
        span_answer_refuse(x, "keys and values differ in number");
    t->vals = x->r.fault ? NULL : span_answer_list_of(x, t->n, sizeof(*t->vals));
    for (uint32_t i = 0; t->vals && i < t->n; i++)
        t->vals[i] = span_answer_read_value(x, letter);
}

static void span_answer_read_attrs(struct reading *x, struct sf_attrs *out)
{
    static const char letters[LISTS] = {'s', 'i', 'd', 'x'};
    struct typed lists[LISTS] = {0};
    struct sf_attr *to;
    sf_str order;
    for (size_t k = 0; k < LISTS && !x->is_full; k++)
        read_typed(x, letters[k], &lists[k]);
    order = sf_row_binary_str(&x->r);
    if (x->r.fault || x->is_full)
        return;
    if (order.len != (size_t)lists[0].n + lists[1].n + lists[2].n + lists[3].n) {
        span_answer_refuse(x, "an order of attributes of another length");
        return;
    }
    to = span_answer_list_of(x, (uint32_t)order.len, sizeof(*to));
    for (size_t i = 0; to && i < order.len; i++) {
        const char *letter = memchr(letters, order.p[i], LISTS);
        struct typed *t = letter ? &lists[letter - letters] : NULL;
        if (!t || t->at == t->n) {
            span_answer_refuse(x, "an order of other attributes");
            return;
        }
        to[i] = (struct sf_attr){t->keys[t->at], t->vals[t->at]};
        t->at++;
    }
    *out = (struct sf_attrs){to, to ? (uint32_t)order.len : 0};
}

/* ---- events, and what has no column ---- */

static void span_answer_read_events(struct reading *x, struct sf_span *s)
{
    uint32_t n = sf_row_binary_count(&x->r, 8);
    struct sf_event *events = span_answer_list_of(x, n, sizeof(*events));
    for (uint32_t i = 0; events && i < n; i++)
        events[i].time_ns = sf_row_binary_u64(&x->r);
    if (sf_row_binary_count(&x->r, 1) != n)
        span_answer_refuse(x, "events and their names differ in number");
    for (uint32_t i = 0; events && !x->r.fault && i < n; i++)
        events[i].name = sf_row_binary_str(&x->r);
    s->events = events;
    s->n_events = x->r.fault || !events ? 0 : n;
}

static void span_answer_read_rest(struct reading *x, struct sf_span *s)
{
    sf_str rest = sf_row_binary_str(&x->r);
    struct sf_span_batch b;
    enum sf_err err;
    if (!rest.len || x->r.fault)
        return;
    err = sf_batch_codec_decode(sf_str_bytes(rest), x->a->req, &b, NULL);
    if (err == SF_ERR_LIMIT)
        x->is_full = true;
    else if (err || b.n_spans != 1)
        span_answer_refuse(x, "the rest of a span is damaged");
    if (err || b.n_spans != 1)
        return;
    s->events = b.spans[0].events;
    s->n_events = b.spans[0].n_events;
    s->links = b.spans[0].links;
    s->n_links = b.spans[0].n_links;
    s->dropped_attrs = b.spans[0].dropped_attrs;
    s->dropped_events = b.spans[0].dropped_events;
    s->dropped_links = b.spans[0].dropped_links;
}

/* ---- groups ---- */

/* A letter for the type, then the value: a number as its bytes without zeros at the end. Empty: the
 * span has no such attribute. */
static bool span_answer_typed_value(struct reading *x, sf_str text, struct sf_value *out)
{
    uint8_t bits[8] = {0};
    sf_str body = sf_str_from_at(text, 1);
    if (body.len)
        memcpy(bits, body.p, body.len < 8 ? body.len : 8);
    *out = (struct sf_value){.type = SF_VALUE_STR, .str = body};
    switch (text.p[0]) {
    case 's': return true;
    case 'i':
        *out = (struct sf_value){.type = SF_VALUE_INT, .i64 = (int64_t)sf_load_u64le(bits)};
        return body.len <= 8;
    case 'd':
        out->type = SF_VALUE_DOUBLE;
        memcpy(&out->f64, bits, sizeof(bits));
        return body.len <= 8;
    case 'x': *out = other_value(x, body); return !x->r.fault;
    default: return false;
    }
}

static void span_answer_read_group(struct reading *x, struct sf_span_answer_row *row)
{
    struct sf_attr *list = span_answer_list_of(x, (uint32_t)x->a->n_keys, sizeof(*list));
    uint32_t n = 0;
    for (size_t i = 0; list && i < x->a->n_keys; i++) {
        sf_str text = sf_row_binary_str(&x->r);
        if (!text.len || x->r.fault)
            continue;
        list[n].key = x->a->keys[i].name;
        if (!span_answer_typed_value(x, text, &list[n].val))
            span_answer_refuse(x, "a value of no known type");
        n++;
    }
    row->span.attrs = (struct sf_attrs){list, n};
    row->n_same = sf_row_binary_u64(&x->r);
    row->sum = sf_row_binary_f64(&x->r);
    if (!row->n_same)
        span_answer_refuse(x, "a group of no spans");
}

/* ---- dictionaries ---- */

static bool span_answer_find(const struct sf_table *t, const uint64_t *ids, uint64_t id,
                             uint32_t *out)
{
    struct sf_table_lookup lookup;
    if (!t->n_slots)
        return false;
    lookup = sf_table_lookup(t, sf_key_u64(id));
    while (sf_table_next(&lookup, out)) {
        if (ids[*out] == id)
            return true;
    }
    return false;
}

static uint32_t resource_place(struct reading *x, uint64_t id, sf_str service)
{
    struct sf_span_answer *a = x->a;
    uint32_t at = 0;
    if (span_answer_find(&a->resource_at, a->resource_ids, id, &at))
        return at;
    if (!sf_table_more(&a->resource_at) ||
        !sf_list_room_in(a->req, &a->resources, a->n_resources, &a->resources_cap, 16) ||
        !sf_list_room_in(a->req, &a->resource_ids, a->n_resources, &a->resource_ids_cap, 16)) {
        x->is_full = true;
        return 0;
    }
    sf_table_put(&a->resource_at, sf_key_u64(id), a->n_resources);
    a->resources[a->n_resources] = (struct sf_resource){.service = service};
    a->resource_ids[a->n_resources] = id;
    return a->n_resources++;
}

static uint32_t scope_place(struct reading *x, uint64_t id)
{
    struct sf_span_answer *a = x->a;
    uint32_t at = 0;
    if (span_answer_find(&a->scope_at, a->scope_ids, id, &at))
        return at;
    if (!sf_table_more(&a->scope_at) ||
        !sf_list_room_in(a->req, &a->scopes, a->n_scopes, &a->scopes_cap, 16) ||
        !sf_list_room_in(a->req, &a->scope_ids, a->n_scopes, &a->scope_ids_cap, 16)) {
        x->is_full = true;
        return 0;
    }
    sf_table_put(&a->scope_at, sf_key_u64(id), a->n_scopes);
    a->scopes[a->n_scopes] = (struct sf_scope){0};
    a->scope_ids[a->n_scopes] = id;
    return a->n_scopes++;
}

/* ---- rows ---- */

static void span_answer_read_row(struct reading *x, struct sf_span_answer_row *row)
{
    struct sf_span *s = &row->span;
    sf_str service, id;
    uint64_t resource, scope;
    row->tenant = sf_row_binary_str(&x->r);
    service = sf_row_binary_str(&x->r);
    s->name = sf_row_binary_str(&x->r);
    s->start_ns = sf_row_binary_u64(&x->r);
    s->end_ns = s->start_ns + sf_row_binary_u64(&x->r);
    id = sf_row_binary_fixed(&x->r, sizeof(s->trace_id.b));
    if (id.len)
        memcpy(s->trace_id.b, id.p, sizeof(s->trace_id.b));
    s->span_id = sf_row_binary_u64(&x->r);
    s->parent_id = sf_row_binary_u64(&x->r);
    s->kind = sf_row_binary_u8(&x->r);
    s->status = sf_row_binary_u8(&x->r);
    s->status_msg = sf_row_binary_str(&x->r);
    resource = sf_row_binary_u64(&x->r);
    scope = sf_row_binary_u64(&x->r);
    span_answer_read_attrs(x, &s->attrs);
    s->flags = sf_row_binary_u32(&x->r);
    s->trace_state = sf_row_binary_str(&x->r);
    span_answer_read_events(x, s);
    span_answer_read_rest(x, s);
    if (x->a->has_groups)
        span_answer_read_group(x, row);
    if (s->kind >= SF_KINDS || s->status >= SF_STATUSES || !s->span_id ||
        sf_trace_id_is_zero(s->trace_id))
        span_answer_refuse(x, "a span without an id, or of no known kind or status");
    if (x->r.fault || x->is_full)
        return;
    s->resource = resource_place(x, resource, service);
    s->scope = scope_place(x, scope);
}

static enum sf_err span_answer_end(const struct reading *x)
{
    return x->is_full ? sf_no_room(x->why, "the answer of a shard")
                      : sf_row_binary_check(&x->r, x->why);
}

enum sf_err sf_span_answer_add(struct sf_span_answer *a, sf_bytes in, struct sf_why *why)
{
    struct reading x = {.a = a, .r = sf_row_reader_init(in), .why = why};
    while (sf_row_more(&x.r) && !x.is_full) {
        if (!sf_list_room_in(a->req, &a->rows, a->n_rows, &a->rows_cap, 64)) {
            x.is_full = true;
            break;
        }
        a->rows[a->n_rows] = (struct sf_span_answer_row){0};
        span_answer_read_row(&x, &a->rows[a->n_rows]);
        a->n_rows += !x.r.fault && !x.is_full;
    }
    return span_answer_end(&x);
}

static void span_answer_take_entry(struct reading *x, bool is_scope, uint64_t id, sf_str body)
{
    struct sf_span_answer *a = x->a;
    struct sf_span_batch b;
    uint32_t at = 0;
    bool is_wanted = is_scope ? span_answer_find(&a->scope_at, a->scope_ids, id, &at)
                              : span_answer_find(&a->resource_at, a->resource_ids, id, &at);
    enum sf_err err;
    if (x->r.fault || !is_wanted)
        return;
    err = sf_batch_codec_decode(sf_str_bytes(body), a->req, &b, NULL);
    if (err == SF_ERR_LIMIT)
        x->is_full = true;
    else if (err || (is_scope ? b.n_scopes : b.n_resources) != 1)
        span_answer_refuse(x, "a resource or scope is damaged");
    else if (is_scope)
        a->scopes[at] = b.scopes[0];
    else
        a->resources[at] = b.resources[0];
}

enum sf_err sf_span_answer_add_entries(struct sf_span_answer *a, sf_bytes in, struct sf_why *why)
{
    struct reading x = {.a = a, .r = sf_row_reader_init(in), .why = why};
    while (sf_row_more(&x.r) && !x.is_full) {
        bool is_scope = sf_row_binary_u8(&x.r) == 1;
        uint64_t id = sf_row_binary_u64(&x.r);
        span_answer_take_entry(&x, is_scope, id, sf_row_binary_str(&x.r));
    }
    return span_answer_end(&x);
}
