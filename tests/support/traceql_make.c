#include "traceql_make.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_OF(list) (sizeof(list) / sizeof((list)[0]))

uint64_t traceql_make_below(struct traceql_make *m, uint64_t n)
{
    uint64_t z = (m->rng += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % n;
}

static bool one_in(struct traceql_make *m, uint64_t n)
{
    return traceql_make_below(m, n) == 0;
}

/* ---- values ---- */

static const char *const strings[] = {"x",   "y",    "z",     "GET",      "POST",     "",    "nil",
                                      "500", "true", "error", "select a", "\xc3\xa9", "a\nb"};

struct bytes {
    uint8_t p[64];
    size_t len;
};

static void add_byte(struct bytes *b, uint64_t byte)
{
    b->p[b->len++] = (uint8_t)byte;
}

static void add_any(struct bytes *b, struct sf_value v)
{
    struct bytes any = {0};
    switch (v.type) {
    case SF_VALUE_STR:
        add_byte(&any, 0x0a);
        add_byte(&any, v.str.len);
        for (size_t i = 0; i < v.str.len; i++)
            add_byte(&any, (uint8_t)v.str.p[i]);
        break;
    case SF_VALUE_BOOL:
        add_byte(&any, 0x10);
        add_byte(&any, v.is_true);
        break;
    case SF_VALUE_INT:
        add_byte(&any, 0x18);
        for (uint64_t rest = (uint64_t)v.i64;; rest >>= 7) {
            add_byte(&any, (rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
            if (rest <= 0x7f)
                break;
        }
        break;
    default:
        add_byte(&any, 0x21);
        memcpy(any.p + any.len, &v.f64, 8);
        any.len += 8;
    }
    add_byte(b, 0x0a);
    add_byte(b, any.len);
    memcpy(b->p + b->len, any.p, any.len);
    b->len += any.len;
}

static struct sf_value make_scalar(struct traceql_make *m, enum sf_value_type type)
{
    struct sf_value v = {.type = type};
    switch (type) {
    case SF_VALUE_STR: v.str = sf_str_from(strings[traceql_make_below(m, N_OF(strings))]); break;
    case SF_VALUE_BOOL: v.is_true = one_in(m, 2); break;
    case SF_VALUE_INT:
        v.i64 = !m->is_exact && one_in(m, 12)
                    ? (INT64_C(1) << 53) + (int64_t)traceql_make_below(m, 3)
                : one_in(m, 8) ? -(int64_t)traceql_make_below(m, 5)
                : one_in(m, 3) ? (int64_t)traceql_make_below(m, 6) * 100
                               : (int64_t)traceql_make_below(m, 6);
        break;
    default:
        v.type = SF_VALUE_DOUBLE;
        v.f64 = one_in(m, 30) ? NAN : (double)traceql_make_below(m, 24) / 4 - 1;
    }
    return v;
}

static struct sf_value make_array(struct traceql_make *m)
{
    static const enum sf_value_type types[] = {SF_VALUE_STR, SF_VALUE_BOOL, SF_VALUE_INT,
                                               SF_VALUE_DOUBLE};
    enum sf_value_type type = types[traceql_make_below(m, N_OF(types))];
    struct bytes b = {0};
    struct sf_value v = {.type = SF_VALUE_ARRAY};
    uint64_t n = traceql_make_below(m, 4);
    bool is_mixed = one_in(m, 6);
    for (uint64_t i = 0; i < n; i++)
        add_any(&b, make_scalar(m, is_mixed ? types[i % N_OF(types)] : type));
    if (!sf_arena_copy(m->keep, (sf_str){(char *)b.p, b.len}, &v.str))
        abort();
    return v;
}

static struct sf_value make_value(struct traceql_make *m)
{
    switch (traceql_make_below(m, 20)) {
    case 0:
    case 1: return make_array(m);
    case 2: return (struct sf_value){.type = SF_VALUE_EMPTY};
    case 3: return (struct sf_value){.type = SF_VALUE_BYTES, .str = SF_STR("raw")};
    case 4: return (struct sf_value){.type = SF_VALUE_KVLIST, .str = SF_STR("\x0a\x03\x0a\x01k")};
    case 5:
    case 6: return make_scalar(m, SF_VALUE_BOOL);
    case 7:
    case 8:
    case 9: return make_scalar(m, SF_VALUE_DOUBLE);
    case 10:
    case 11:
    case 12:
    case 13: return make_scalar(m, SF_VALUE_STR);
    default: return make_scalar(m, SF_VALUE_INT);
    }
}

static struct sf_attrs make_attrs(struct traceql_make *m, uint64_t n_max)
{
    static const char *const keys[] = {"a", "b", "c", "bytes", "flag", "http.status", "my key"};
    struct sf_attr *list = slow_new(m->keep, n_max + 1, sizeof(*list));
    uint32_t n = (uint32_t)traceql_make_below(m, n_max + 1);
    for (uint32_t i = 0; i < n; i++) {
        list[i].key = sf_str_from(keys[traceql_make_below(m, N_OF(keys))]);
        list[i].val = make_value(m);
        if (sf_str_eq(list[i].key, SF_STR("flag")) && !one_in(m, 4))
            list[i].val = make_scalar(m, SF_VALUE_BOOL);
        if (sf_str_eq(list[i].key, SF_STR("bytes")) && !one_in(m, 4))
            list[i].val = make_scalar(m, SF_VALUE_INT);
    }
    return (struct sf_attrs){list, n};
}

/* ---- what spans hang on ---- */

static void make_resource(struct traceql_make *m, uint32_t i)
{
    static const char *const services[] = {"shop", "cart", "db", "auth", ""};
    struct sf_attrs attrs = make_attrs(m, 4);
    struct sf_attr *list = slow_new(m->keep, attrs.n + 1, sizeof(*list));
    sf_str name = sf_str_from(services[i % N_OF(services)]);
    struct sf_resource *r = &m->resources[i];
    memcpy(list + 1, attrs.list, attrs.n * sizeof(*list));
    list[0] = (struct sf_attr){SF_STR("service.name"), {.type = SF_VALUE_STR, .str = name}};
    if (name.len == 0) {
        r->attrs = attrs;
        r->service = SF_STR("unknown_service");
    } else {
        r->attrs = (struct sf_attrs){list, attrs.n + 1};
        r->service = name;
    }
}

void traceql_make_init(struct traceql_make *m, uint64_t seed, uint64_t base_ns,
                       struct sf_arena *keep)
{
    static const char *const names[] = {"net/http", "app", ""}, *const versions[] = {"1.0", ""};
    *m = (struct traceql_make){
        .rng = seed * 7919, .base_ns = base_ns, .keep = keep, .is_exact = seed % 2 == 1};
    for (uint32_t i = 0; i < TRACEQL_MAKE_RESOURCES; i++)
        make_resource(m, i);
    for (uint32_t i = 0; i < TRACEQL_MAKE_SCOPES; i++)
        m->scopes[i] = (struct sf_scope){.name = sf_str_from(names[i % N_OF(names)]),
                                         .version = sf_str_from(versions[i % N_OF(versions)]),
                                         .attrs = make_attrs(m, 2)};
}

/* ---- spans ---- */

static sf_trace_id make_trace_id(struct traceql_make *m)
{
    sf_trace_id id = {{0}};
    m->n_ids++;
    for (size_t i = one_in(m, 4) ? 11 : 0; i < 16; i++) /* some begin with zeros */
        id.b[i] = (uint8_t)traceql_make_below(m, 256);
    id.b[14] = (uint8_t)(m->n_ids >> 8);
    id.b[15] = (uint8_t)m->n_ids;
    return id;
}

static void make_events(struct traceql_make *m, struct sf_span *s)
{
    static const char *const names[] = {"exception", "retry", ""};
    struct sf_event *list;
    s->n_events = one_in(m, 3) ? (uint32_t)traceql_make_below(m, 4) : 0;
    s->events = list = slow_new(m->keep, s->n_events, sizeof(*list));
    for (uint32_t i = 0; i < s->n_events; i++) {
        list[i].name = sf_str_from(names[traceql_make_below(m, N_OF(names))]);
        list[i].time_ns = s->start_ns + traceql_make_below(m, 8) * TRACEQL_MAKE_UNIT_NS * 8;
        if (!m->is_exact && one_in(m, 10) && s->start_ns > 1000)
            list[i].time_ns = s->start_ns - 1000;
        list[i].attrs = make_attrs(m, 3);
    }
}

static void make_links(struct traceql_make *m, struct sf_span *s)
{
    struct sf_link *list;
    s->n_links = one_in(m, 4) ? (uint32_t)traceql_make_below(m, 3) : 0;
    s->links = list = slow_new(m->keep, s->n_links, sizeof(*list));
    for (uint32_t i = 0; i < s->n_links; i++) {
        list[i].trace_id = one_in(m, 2) || m->n_ids < 2 ? s->trace_id : m->last_id;
        list[i].span_id = one_in(m, 2) ? s->span_id : traceql_make_below(m, 100) + 1;
        list[i].attrs = make_attrs(m, 2);
    }
}

static uint64_t make_duration(struct traceql_make *m)
{
    if (!m->is_exact && one_in(m, 15))
        return traceql_make_below(m, 4); /* nothing, or some ns */
    return (traceql_make_below(m, 40) + 1) * TRACEQL_MAKE_UNIT_NS *
           (one_in(m, 4)   ? 64
            : one_in(m, 2) ? 8
                           : 1);
}

static struct slow_row make_span(struct traceql_make *m, sf_trace_id id, uint64_t start_ns)
{
    static const char *const names[] = {"GET /a", "GET /b", "select", "call", "step", ""},
                             *const words[] = {"", "", "boom", "disk full"};
    struct slow_row row = {.resource = &m->resources[traceql_make_below(m, TRACEQL_MAKE_RESOURCES)],
                           .scope = &m->scopes[traceql_make_below(m, TRACEQL_MAKE_SCOPES)]};
    struct sf_span *s = &row.span;
    s->trace_id = id;
    s->span_id = one_in(m, 5) ? traceql_make_below(m, 50) + 1
                              : UINT64_C(0xa000000000000000) + traceql_make_below(m, 1000000);
    s->start_ns = start_ns + traceql_make_below(m, 12) * TRACEQL_MAKE_UNIT_NS * 16;
    if (one_in(m, 60))
        s->start_ns += one_in(m, 2) ? UINT64_C(250000000000) : -UINT64_C(250000000000);
    if (one_in(m, 30)) /* hours away from the others */
        s->start_ns += (one_in(m, 2) ? UINT64_C(3000) : -UINT64_C(3000)) * UINT64_C(1000000000) *
                       (traceql_make_below(m, 5) + 1);
    s->end_ns = s->start_ns + make_duration(m);
    if (one_in(m, 40))
        s->end_ns = one_in(m, 2) ? 0 : s->start_ns - 5;
    s->name = sf_str_from(names[traceql_make_below(m, N_OF(names))]);
    s->kind = (uint8_t)traceql_make_below(m, SF_KINDS);
    s->status = (uint8_t)traceql_make_below(m, SF_STATUSES);
    s->status_msg = sf_str_from(words[traceql_make_below(m, N_OF(words))]);
    s->attrs = make_attrs(m, 6);
    make_events(m, s);
    make_links(m, s);
    return row;
}

static bool is_taken(const struct slow_row *rows, uint32_t n, const struct slow_row *row)
{
    for (uint32_t i = 0; i < n; i++) {
        if (rows[i].span.span_id == row->span.span_id && rows[i].span.kind == row->span.kind)
            return true;
    }
    return false;
}

static void give_parent(struct traceql_make *m, struct slow_row *rows, uint32_t n,
                        struct slow_row *row, bool has_root)
{
    if (n == 0)
        row->span.parent_id = has_root ? 0 : 77777;
    else if (one_in(m, 25))
        row->span.parent_id = 0; /* one more root */
    else if (one_in(m, 25))
        row->span.parent_id = 88888; /* which never comes */
    else if (one_in(m, 60))
        row->span.parent_id = row->span.span_id;
    else
        row->span.parent_id = rows[traceql_make_below(m, n)].span.span_id;
}

uint32_t traceql_make_trace(struct traceql_make *m, struct slow_row *out)
{
    sf_trace_id id = make_trace_id(m);
    uint64_t start_ns = m->base_ns + traceql_make_below(m, 10800) * UINT64_C(1000000000);
    uint32_t wanted = one_in(m, 8) ? 40 : (uint32_t)traceql_make_below(m, 12) + 1, n = 0, n_spans;
    bool has_root = !one_in(m, 6), shares_ids = one_in(m, 4);
    if (m->last_start_ns && one_in(m, 4))
        start_ns = m->last_start_ns; /* a tie, when both have a span that starts then */
    m->last_start_ns = start_ns;
    while (n < wanted) {
        struct slow_row row = make_span(m, id, start_ns);
        if (shares_ids && n && one_in(m, 5)) /* a client and its server, or three of one id */
            row.span.span_id = out[traceql_make_below(m, n)].span.span_id;
        give_parent(m, out, n, &row, has_root);
        if (!is_taken(out, n, &row))
            out[n++] = row;
    }
    if (n > 2 && one_in(m, 8)) { /* two that call each other their parent */
        out[n - 1].span.parent_id = out[n - 2].span.span_id;
        out[n - 2].span.parent_id = out[n - 1].span.span_id;
    }
    n_spans = n;
    for (uint32_t i = 0; i < n_spans && n < TRACEQL_MAKE_SPANS; i++) {
        if (!one_in(m, 12))
            continue;
        out[n] = out[i];
        if (one_in(m, 2)) { /* a better copy, or the same once more */
            out[n].span.end_ns += TRACEQL_MAKE_UNIT_NS;
            out[n].span.status = (uint8_t)traceql_make_below(m, SF_STATUSES);
            out[n].span.attrs = make_attrs(m, 6);
        }
        n++;
    }
    m->last_id = id;
    return n;
}

struct slow_row traceql_make_late(struct traceql_make *m, const struct slow_row *sibling)
{
    struct slow_row row = make_span(m, sibling->span.trace_id,
                                    sibling->span.start_ns + 40 * TRACEQL_MAKE_UNIT_NS);
    row.span.span_id = UINT64_C(0xb000000000000000) + ++m->n_ids;
    row.span.parent_id = one_in(m, 2) ? sibling->span.span_id : sibling->span.parent_id;
    return row;
}
