/* random_spans.h - spans nobody would send on purpose, and the comparison of two. */
#pragma once
#include <stdlib.h>

#include "base/arena.h"
#include "base/hash.h"
#include "block/span/span_block_reader.h"
#include "block/span/span_block_writer.h"

struct dice {
    uint64_t seed;
};

static inline uint64_t roll(struct dice *d, uint64_t n)
{
    d->seed = sf_hash_mix(d->seed, 0x1234567);
    return n ? d->seed % n : d->seed;
}

static inline sf_str random_text(struct dice *d, struct sf_arena *a)
{
    static const char *const WORDS[] = {"GET",
                                        "POST /api/v1/orders",
                                        "",
                                        "a",
                                        "10.1.2.3",
                                        "\xff\xfe invalid",
                                        "3f2504e0-4f89-11d3-9a0c-0305e82c3301"};
    sf_str s = SF_STR_NONE;
    uint64_t n = roll(d, 1000000);
    switch (roll(d, 8)) {
    case 0: sf_arena_print(a, &s, "user-%llu", (unsigned long long)n); break;
    case 1: sf_arena_print(a, &s, "%06llu", (unsigned long long)n % 1000); break;
    case 2:
        sf_arena_print(a, &s, "%llu.%llu.0.%llu", (unsigned long long)n % 256,
                       (unsigned long long)n % 7, (unsigned long long)n % 255);
        break;
    case 3: sf_arena_print(a, &s, "%016llx", (unsigned long long)roll(d, 0)); break;
    case 4: {
        unsigned long long x = roll(d, 0);
        sf_arena_print(a, &s, "%08x-%04x-4%03x-8%03x-%012llx", (unsigned)n, (unsigned)(n % 65536),
                       (unsigned)(n % 4096), (unsigned)(x % 4096), x & 0xffffffffffff);
        break;
    }
    default: s = sf_str_from(WORDS[roll(d, 7)]); break;
    }
    return s;
}

static inline struct sf_value random_value(struct dice *d, struct sf_arena *a, int type)
{
    static const uint64_t DOUBLES[] = {0, 0x8000000000000000, 0x7ff8000000000001,
                                       0xfff0000000000000, 0x3ff8000000000000};
    struct sf_value v = {.type = (enum sf_value_type)type};
    uint64_t bits;
    switch (v.type) {
    case SF_VALUE_BOOL: v.is_true = roll(d, 2); break;
    case SF_VALUE_INT:
        v.i64 = roll(d, 3) ? (int64_t)roll(d, 600) - 100 : (int64_t)roll(d, 0);
        break;
    case SF_VALUE_DOUBLE:
        bits = roll(d, 2) ? DOUBLES[roll(d, 5)] : roll(d, 0);
        memcpy(&v.f64, &bits, 8);
        break;
    case SF_VALUE_EMPTY: break;
    default: v.str = random_text(d, a); break;
    }
    return v;
}

static inline struct sf_attrs random_attrs(struct dice *d, struct sf_arena *a, uint32_t max)
{
    static const char *const KEYS[] = {
        "http.method", "http.status_code", "url.full", "user.id",   "",
        "k\xff",       "db.statement",     "peer",     "thread.id", "x"};
    uint32_t n = (uint32_t)roll(d, max + 1);
    struct sf_attr *list = sf_arena_new_n(a, n, sizeof(*list));
    for (uint32_t i = 0; i < n; i++) {
        uint64_t key = roll(d, 10);
        int type = (int)(roll(d, 4) ? 1 + key % 8 : 1 + roll(d, 8));
        list[i] = (struct sf_attr){sf_str_from(KEYS[key]), random_value(d, a, type)};
    }
    return (struct sf_attrs){list, n};
}

static inline uint64_t random_time(struct dice *d)
{
    static const uint64_t ABSURD[] = {0, UINT64_MAX, 1, (uint64_t)INT64_MAX + 1};
    if (roll(d, 50) == 0)
        return ABSURD[roll(d, 4)];
    return 1700000000000000000u + roll(d, 60000000) * 1000;
}

static inline struct sf_span random_span(struct dice *d, struct sf_arena *a)
{
    struct sf_span s = {.span_id = roll(d, 20) ? roll(d, 0) : roll(d, 3)};
    struct sf_event *events;
    struct sf_link *links;

    s.start_ns = random_time(d);
    s.end_ns = roll(d, 20) ? s.start_ns + roll(d, 100000) * 1000 : random_time(d);
    s.name = random_text(d, a);
    s.kind = (uint8_t)(roll(d, 200) ? roll(d, 6) : roll(d, 256));
    s.status = (uint8_t)(roll(d, 200) ? roll(d, 3) : roll(d, 256));
    if (roll(d, 4) == 0)
        s.status_msg = random_text(d, a);
    if (roll(d, 4) == 0)
        s.trace_state = random_text(d, a);
    s.flags = roll(d, 3) ? 0 : (uint32_t)roll(d, 0);
    s.dropped_attrs = roll(d, 9) ? 0 : (uint32_t)roll(d, 0);
    s.dropped_events = roll(d, 9) ? 0 : (uint32_t)roll(d, 7);
    s.dropped_links = roll(d, 9) ? 0 : (uint32_t)roll(d, 7);
    s.attrs = random_attrs(d, a, 8);
    s.n_events = roll(d, 3) ? 0 : (uint32_t)roll(d, 4);
    s.n_links = roll(d, 3) ? 0 : (uint32_t)roll(d, 3);
    events = sf_arena_new_n(a, s.n_events, sizeof(*events));
    for (uint32_t i = 0; i < s.n_events; i++)
        events[i] = (struct sf_event){.time_ns = random_time(d),
                                      .name = random_text(d, a),
                                      .attrs = random_attrs(d, a, 3),
                                      .dropped_attrs = (uint32_t)roll(d, 2)};
    links = sf_arena_new_n(a, s.n_links, sizeof(*links));
    for (uint32_t i = 0; i < s.n_links; i++) {
        links[i] = (struct sf_link){.span_id = roll(d, 0),
                                    .trace_state = random_text(d, a),
                                    .attrs = random_attrs(d, a, 2),
                                    .dropped_attrs = (uint32_t)roll(d, 2),
                                    .flags = (uint32_t)roll(d, 0)};
        memset(links[i].trace_id.b, (int)roll(d, 256), 16);
    }
    s.events = s.n_events ? events : NULL;
    s.links = s.n_links ? links : NULL;
    return s;
}

struct random_block { /* what was written, in order */
    struct sf_span *spans;
    int64_t *index_ns;
    uint32_t *tenants;
    uint32_t n;
};

/* Traces of up to `max_trace` spans; returns what was added, with codes of this block. */
static inline enum sf_err add_random(struct sf_span_block_writer *w, struct dice *d,
                                     struct sf_arena *a, uint32_t n_traces, uint32_t max_trace,
                                     struct random_block *out, struct sf_why *why)
{
    out->spans = sf_arena_new_n(a, (size_t)n_traces * max_trace, sizeof(*out->spans));
    out->index_ns = sf_arena_new_n(a, (size_t)n_traces * max_trace, sizeof(*out->index_ns));
    out->tenants = sf_arena_new_n(a, (size_t)n_traces * max_trace, sizeof(*out->tenants));
    out->n = 0;
    for (uint32_t t = 0; t < n_traces; t++) {
        uint32_t tenant = 1 + t * 2 / n_traces, n = 1 + (uint32_t)roll(d, max_trace), code, first;
        sf_trace_id id;
        struct sf_span *spans = out->spans + out->n;
        enum sf_err err;

        sf_store_u64le(id.b, roll(d, 0));
        sf_store_u64le(id.b + 8, roll(d, 0));
        for (uint32_t i = 0; i < n; i++) {
            struct sf_resource res = {.attrs = random_attrs(d, a, 2),
                                      .service = random_text(d, a),
                                      .schema_url = random_text(d, a),
                                      .dropped_attrs = (uint32_t)roll(d, 2)};
            struct sf_scope scope = {.name = random_text(d, a), .attrs = random_attrs(d, a, 1)};
            spans[i] = random_span(d, a);
            spans[i].trace_id = id;
            if (roll(d, 4))
                spans[i].parent_id = roll(d, 5) ? spans[roll(d, i + 1)].span_id : roll(d, 0);
            err = sf_span_block_writer_resource(w, tenant, &res, &code, why);
            if (err)
                return err;
            spans[i].resource = code;
            err = sf_span_block_writer_scope(w, tenant, &scope, &code, why);
            if (err)
                return err;
            spans[i].scope = code;
            out->index_ns[out->n + i] = roll(d, 10) ? (int64_t)spans[i].start_ns
                                                    : (int64_t)roll(d, 1u << 30);
            out->tenants[out->n + i] = tenant;
        }
        first = roll(d, 2) ? n : 1 + (uint32_t)roll(d, n); /* in two slices sometimes */
        err = sf_span_block_writer_trace(w, tenant, spans, out->index_ns + out->n, first, why);
        if (!err && first < n)
            err = sf_span_block_writer_trace(w, tenant, spans + first,
                                             out->index_ns + out->n + first, n - first, why);
        if (err)
            return err;
        out->n += n;
    }
    return SF_OK;
}

static inline bool attrs_eq(struct sf_attrs a, struct sf_attrs b)
{
    if (a.n != b.n)
        return false;
    for (uint32_t i = 0; i < a.n; i++) {
        if (!sf_str_eq(a.list[i].key, b.list[i].key) || !sf_value_eq(a.list[i].val, b.list[i].val))
            return false;
    }
    return true;
}

static inline bool events_eq(const struct sf_span *a, const struct sf_span *b)
{
    if (a->n_events != b->n_events)
        return false;
    for (uint32_t i = 0; i < a->n_events; i++) {
        const struct sf_event *x = &a->events[i], *y = &b->events[i];
        if (x->time_ns != y->time_ns || !sf_str_eq(x->name, y->name) ||
            !attrs_eq(x->attrs, y->attrs) || x->dropped_attrs != y->dropped_attrs)
            return false;
    }
    return true;
}

static inline bool links_eq(const struct sf_span *a, const struct sf_span *b)
{
    if (a->n_links != b->n_links)
        return false;
    for (uint32_t i = 0; i < a->n_links; i++) {
        const struct sf_link *x = &a->links[i], *y = &b->links[i];
        if (!sf_trace_id_eq(x->trace_id, y->trace_id) || x->span_id != y->span_id ||
            !sf_str_eq(x->trace_state, y->trace_state) || !attrs_eq(x->attrs, y->attrs) ||
            x->dropped_attrs != y->dropped_attrs || x->flags != y->flags)
            return false;
    }
    return true;
}

/* Which field differs first; NULL: none of those in `columns`. */
static inline const char *span_difference(const struct sf_span *a, const struct sf_span *b,
                                          uint32_t columns)
{
    if (!sf_trace_id_eq(a->trace_id, b->trace_id))
        return "trace id";
    if (a->span_id != b->span_id)
        return "span id";
    if (columns & SF_COL_PARENT && a->parent_id != b->parent_id)
        return "parent";
    if (columns & SF_COL_TIMES && (a->start_ns != b->start_ns || a->end_ns != b->end_ns))
        return "times";
    if (columns & SF_COL_KIND && (a->kind != b->kind || a->status != b->status))
        return "kind";
    if (columns & SF_COL_NAME && !sf_str_eq(a->name, b->name))
        return "name";
    if (columns & SF_COL_RESOURCE && a->resource != b->resource)
        return "resource";
    if (columns & SF_COL_SCOPE && a->scope != b->scope)
        return "scope";
    if (columns & SF_COL_STATUS_MSG && !sf_str_eq(a->status_msg, b->status_msg))
        return "status message";
    if (columns & SF_COL_ATTRS && !attrs_eq(a->attrs, b->attrs))
        return "attributes";
    if (columns & SF_COL_EVENTS && !events_eq(a, b))
        return "events";
    if (columns & SF_COL_LINKS && !links_eq(a, b))
        return "links";
    if (columns & SF_COL_REST &&
        (!sf_str_eq(a->trace_state, b->trace_state) || a->flags != b->flags ||
         a->dropped_attrs != b->dropped_attrs || a->dropped_events != b->dropped_events ||
         a->dropped_links != b->dropped_links))
        return "rest";
    return NULL;
}
