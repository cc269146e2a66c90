#include "support/otlp_make.h"

#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/num.h"

static uint64_t next_u64(struct sf_otlp_make *m)
{
    uint64_t z = (m->rng += 0x9e3779b97f4a7c15u); /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t sf_otlp_make_below(struct sf_otlp_make *m, uint64_t n)
{
    return next_u64(m) % n;
}

void sf_otlp_make_init(struct sf_otlp_make *m, uint64_t seed, uint64_t now_ns)
{
    memset(m, 0, sizeof(*m));
    m->seed = seed;
    m->rng = seed * 0x2545f4914f6cdd1du + 1;
    m->now_ns = now_ns ? now_ns : 1704067200000000000u;
}

static const char *const services[SF_OTLP_MAKE_SERVICES] = {
    "frontend", "gateway",  "auth",      "users",     "cart",    "checkout", "payment",
    "orders",   "shipping", "email",     "inventory", "catalog", "search",   "reviews",
    "pricing",  "currency", "recommend", "ads",       "ledger",  "audit",
};
static const char *const nouns[SF_OTLP_MAKE_OPS] = {
    "item", "list", "status", "history", "quote", "price", "session", "index", "batch", "report"};
static const char *const agents[4] = {"Mozilla/5.0 (X11; Linux x86_64) Firefox/128.0",
                                      "okhttp/4.12.0", "curl/8.5.0", "Go-http-client/1.1"};

struct maker { /* the request being made */
    struct sf_otlp_make *m;
    struct sf_arena *req;
};

static void *need(void *p)
{
    SF_ASSERT(p && "the arena given to otlp_make is too small");
    return p;
}

#define PRINT(mk, ...)                                               \
    ({                                                               \
        sf_str printed;                                              \
        SF_ASSERT(sf_arena_print((mk)->req, &printed, __VA_ARGS__)); \
        printed;                                                     \
    })

struct list {
    struct sf_attr *p;
    uint32_t n, cap;
};

static struct list new_list(struct maker *mk, uint32_t cap)
{
    return (struct list){need(sf_arena_new_n(mk->req, cap, sizeof(struct sf_attr))), 0, cap};
}

static void add(struct list *l, const char *key, struct sf_value val)
{
    SF_ASSERT(l->n < l->cap);
    l->p[l->n++] = (struct sf_attr){sf_str_from(key), val};
}

static void add_str(struct list *l, const char *key, sf_str s)
{
    add(l, key, (struct sf_value){.type = SF_VALUE_STR, .str = s});
}

static void add_int(struct list *l, const char *key, int64_t v)
{
    add(l, key, (struct sf_value){.type = SF_VALUE_INT, .i64 = v});
}

static struct sf_attrs attrs_of(struct list l)
{
    return (struct sf_attrs){l.p, l.n};
}

static void make_resource(struct maker *mk, uint32_t service, uint32_t instance,
                          struct sf_resource *r)
{
    struct list l = new_list(mk, 12);
    const char *name = services[service];
    sf_str host = PRINT(mk, "node-%02u", (service * 3 + instance) % 17);
    add_str(&l, "service.name", sf_str_from(name));
    add_str(&l, "service.namespace", SF_STR("shop"));
    add_str(&l, "service.version", PRINT(mk, "1.%u.0", service % 7));
    add_str(&l, "service.instance.id",
            PRINT(mk, "%s-%08x-%u", name, service * 2654435761u, instance));
    add_str(&l, "host.name", host);
    add_str(&l, "k8s.pod.name", PRINT(mk, "%s-7d9f8b6c5-%05x", name, service * 3 + instance));
    add_str(&l, "k8s.namespace.name", SF_STR("shop"));
    add_int(&l, "process.pid", 1000 + service * 3 + instance);
    add_str(&l, "telemetry.sdk.name", SF_STR("opentelemetry"));
    add_str(&l, "telemetry.sdk.language", service % 2 ? SF_STR("go") : SF_STR("java"));
    add_str(&l, "telemetry.sdk.version", SF_STR("1.38.0"));
    add_str(&l, "deployment.environment.name", SF_STR("production"));
    *r = (struct sf_resource){.attrs = attrs_of(l), .service = sf_str_from(name)};
}

static void http_attrs(struct maker *mk, struct list *l, uint32_t service, uint32_t op, bool failed)
{
    struct sf_otlp_make *m = mk->m;
    const char *noun = nouns[op];
    add_str(l, "http.request.method", op % 3 ? SF_STR("GET") : SF_STR("POST"));
    add_str(l, "http.route", PRINT(mk, "/%s/%s/{id}", services[service], noun));
    add_str(l, "url.path",
            PRINT(mk, "/%s/%s/%llu", services[service], noun,
                  (unsigned long long)sf_otlp_make_below(m, 1000000)));
    add_int(l, "http.response.status_code", failed ? 500 : 200);
    add_str(l, "server.address", PRINT(mk, "%s.shop.svc", services[service]));
    add_int(l, "server.port", 8080);
    add_str(l, "client.address",
            PRINT(mk, "10.%u.%u.%u", (unsigned)sf_otlp_make_below(m, 4),
                  (unsigned)sf_otlp_make_below(m, 256), (unsigned)sf_otlp_make_below(m, 256)));
    add_str(l, "user_agent.original", sf_str_from(agents[sf_otlp_make_below(m, 4)]));
    add_str(l, "network.protocol.version", SF_STR("1.1"));
    add_str(l, "enduser.id",
            PRINT(mk, "u%06llu", (unsigned long long)sf_otlp_make_below(m, 200000)));
    add_int(l, "thread.id", (int64_t)sf_otlp_make_below(m, 32) + 20);
    add_str(l, "thread.name",
            PRINT(mk, "http-nio-8080-exec-%llu", (unsigned long long)sf_otlp_make_below(m, 32)));
}

static void db_attrs(struct maker *mk, struct list *l, uint32_t service, uint32_t op)
{
    struct sf_otlp_make *m = mk->m;
    add_str(l, "db.system.name", SF_STR("postgresql"));
    add_str(l, "db.namespace", sf_str_from(services[service]));
    add_str(l, "db.operation.name", op % 4 ? SF_STR("SELECT") : SF_STR("UPDATE"));
    add_str(l, "db.collection.name", sf_str_from(nouns[op]));
    add_str(l, "db.query.text",
            PRINT(mk, "SELECT id, name, total FROM %s WHERE tenant = ? AND id = %llu LIMIT 50",
                  nouns[op], (unsigned long long)sf_otlp_make_below(m, 1000000)));
    add_str(l, "server.address", PRINT(mk, "pg-%u.shop.svc", service % 3));
    add_int(l, "server.port", 5432);
    add_int(l, "db.response.returned_rows", (int64_t)sf_otlp_make_below(m, 50));
    add(l, "db.cost",
        (struct sf_value){.type = SF_VALUE_DOUBLE,
                          .f64 = (double)sf_otlp_make_below(m, 100000) / 128.0});
    add(l, "db.cached", (struct sf_value){.type = SF_VALUE_BOOL, .is_true = op % 2});
    add_int(l, "thread.id", (int64_t)sf_otlp_make_below(m, 32) + 20);
    add_str(l, "thread.name", SF_STR("pool-2-thread-7"));
}

static void make_event(struct maker *mk, struct sf_span *s)
{
    struct list l = new_list(mk, 3);
    struct sf_event *ev = need(sf_arena_new(mk->req, sizeof(*ev)));
    add_str(&l, "exception.type", SF_STR("java.sql.SQLTimeoutException"));
    add_str(
        &l, "exception.message",
        PRINT(mk, "no answer within %llu ms", (unsigned long long)sf_otlp_make_below(mk->m, 5000)));
    add_str(&l, "exception.stacktrace",
            SF_STR("java.sql.SQLTimeoutException: no answer\n\tat shop.Db.query(Db.java:117)\n"
                   "\tat shop.Cart.load(Cart.java:42)\n\tat shop.Http.handle(Http.java:8)\n"));
    *ev = (struct sf_event){
        .time_ns = s->end_ns - 1000, .name = SF_STR("exception"), .attrs = attrs_of(l)};
    s->events = ev;
    s->n_events = 1;
}

static void make_link(struct maker *mk, struct sf_span *s)
{
    struct sf_link *link = need(sf_arena_new(mk->req, sizeof(*link)));
    for (size_t i = 0; i < sizeof(link->trace_id.b); i++)
        link->trace_id.b[i] = (uint8_t)(next_u64(mk->m) | 1);
    link->span_id = next_u64(mk->m) | 1;
    s->links = link;
    s->n_links = 1;
}

static void place_in_trace(struct sf_otlp_make *m, struct sf_span *s)
{
    size_t slot = sf_otlp_make_below(m, SF_OTLP_MAKE_OPEN);
    if (m->open[slot].left == 0) {
        sf_store_u64be(m->open[slot].id.b, next_u64(m) | 1);
        sf_store_u64be(m->open[slot].id.b + 8, next_u64(m));
        memset(m->open[slot].parents, 0, sizeof(m->open[slot].parents));
        m->open[slot].left = 3 + (uint32_t)sf_otlp_make_below(m, 30);
    }
    m->open[slot].left--;
    s->trace_id = m->open[slot].id;
    /* A counter hashed by an invertible function: never the same twice, never zero. */
    s->span_id = (m->seed * 0x9e3779b97f4a7c15u ^ ++m->n_made) * 0xff51afd7ed558ccdu;
    if (s->span_id == 0)
        s->span_id = (m->seed * 0x9e3779b97f4a7c15u ^ ++m->n_made) * 0xff51afd7ed558ccdu;
    s->parent_id = m->open[slot].parents[sf_otlp_make_below(m, 4)];
    if (!s->parent_id)
        s->parent_id = m->open[slot].parents[0];
    memmove(m->open[slot].parents + 1, m->open[slot].parents, 3 * sizeof(sf_span_id));
    m->open[slot].parents[0] = s->span_id;
}

static void make_span(struct maker *mk, uint32_t service, struct sf_span *s)
{
    struct sf_otlp_make *m = mk->m;
    uint32_t op = (uint32_t)sf_otlp_make_below(m, SF_OTLP_MAKE_OPS);
    bool failed = sf_otlp_make_below(m, 50) == 0;
    struct list l = new_list(mk, 13);

    place_in_trace(m, s);
    m->now_ns += 1000 + sf_otlp_make_below(m, 200000);
    s->start_ns = m->now_ns;
    s->end_ns = s->start_ns + 50000 +
                (sf_otlp_make_below(m, 4096) * sf_otlp_make_below(m, 4096)) * 16;
    s->flags = s->parent_id ? 0x101 : 0x301;
    if (op < 7) {
        s->kind = op % 2 ? SF_KIND_SERVER : SF_KIND_CLIENT;
        s->name = PRINT(mk, "%s /%s/%s/{id}", op % 3 ? "GET" : "POST", services[service],
                        nouns[op]);
        http_attrs(mk, &l, service, op, failed);
    } else {
        s->kind = op == 9 ? SF_KIND_INTERNAL : SF_KIND_CLIENT;
        s->name = PRINT(mk, "%s %s.%s", op % 4 ? "SELECT" : "UPDATE", services[service], nouns[op]);
        db_attrs(mk, &l, service, op);
    }
    if (failed) {
        add_str(&l, "error.type", SF_STR("timeout"));
        s->status = SF_STATUS_ERROR;
        s->status_msg = SF_STR("no answer in time");
        make_event(mk, s);
    }
    if (sf_otlp_make_below(m, 100) == 0)
        make_link(mk, s);
    s->attrs = attrs_of(l);
}

void sf_otlp_make_batch(struct sf_otlp_make *m, uint32_t n_spans, struct sf_arena *req,
                        struct sf_span_batch *out)
{
    struct maker mk = {m, req};
    /* A Collector's batch: runs of about 25 spans of one instance. */
    uint32_t n_groups = n_spans / 25 + 1;
    struct sf_resource *resources = need(sf_arena_new_n(req, n_groups, sizeof(*resources)));
    struct sf_scope *scopes = need(sf_arena_new_n(req, n_groups, sizeof(*scopes)));
    struct sf_span *spans = need(sf_arena_new_n(req, n_spans, sizeof(*spans)));
    uint32_t n = 0, used = 0;

    for (uint32_t g = 0; g < n_groups && n < n_spans; g++) {
        uint32_t service = (uint32_t)sf_otlp_make_below(m, SF_OTLP_MAKE_SERVICES);
        uint32_t upto = g + 1 == n_groups ? n_spans : n + 25;
        make_resource(&mk, service, (uint32_t)sf_otlp_make_below(m, 3), &resources[g]);
        scopes[g] = (struct sf_scope){.name = SF_STR("io.opentelemetry.tomcat-10.0"),
                                      .version = SF_STR("2.6.0")};
        for (; n < upto && n < n_spans; n++) {
            spans[n].resource = spans[n].scope = g;
            make_span(&mk, service, &spans[n]);
        }
        used = g + 1;
    }
    *out = (struct sf_span_batch){resources, scopes, spans, used, used, n_spans};
}

static void make_request(struct sf_otlp_make *m, uint32_t n_spans, struct sf_buf *out,
                         struct sf_otlp_made *made,
                         void (*encode)(const struct sf_span_batch *, struct sf_buf *))
{
    struct sf_arena arena = {0};
    struct sf_span_batch batch;
    if (!sf_arena_init(&arena, ((size_t)n_spans + 64) * 16384)) {
        out->err = SF_ERR_NOMEM;
        return;
    }
    sf_otlp_make_batch(m, n_spans, &arena, &batch);
    encode(&batch, out);
    for (uint32_t i = 0; made && i < n_spans; i++)
        made[i] = (struct sf_otlp_made){batch.spans[i].trace_id, batch.spans[i].span_id};
    sf_arena_done(&arena);
}

void sf_otlp_make_request(struct sf_otlp_make *m, uint32_t n_spans, struct sf_buf *out,
                          struct sf_otlp_made *made)
{
    make_request(m, n_spans, out, made, sf_otlp_make_pb);
}

void sf_otlp_make_request_json(struct sf_otlp_make *m, uint32_t n_spans, struct sf_buf *out,
                               struct sf_otlp_made *made)
{
    make_request(m, n_spans, out, made, sf_otlp_make_json);
}

static bool attrs_differ(struct sf_attrs a, struct sf_attrs b)
{
    if (a.n != b.n)
        return true;
    for (uint32_t i = 0; i < a.n; i++) {
        if (!sf_str_eq(a.list[i].key, b.list[i].key) || !sf_value_eq(a.list[i].val, b.list[i].val))
            return true;
    }
    return false;
}

static bool events_differ(const struct sf_span *a, const struct sf_span *b)
{
    if (a->n_events != b->n_events)
        return true;
    for (uint32_t i = 0; i < a->n_events; i++) {
        const struct sf_event *x = &a->events[i], *y = &b->events[i];
        if (x->time_ns != y->time_ns || !sf_str_eq(x->name, y->name) ||
            x->dropped_attrs != y->dropped_attrs || attrs_differ(x->attrs, y->attrs))
            return true;
    }
    return false;
}

static bool links_differ(const struct sf_span *a, const struct sf_span *b)
{
    if (a->n_links != b->n_links)
        return true;
    for (uint32_t i = 0; i < a->n_links; i++) {
        const struct sf_link *x = &a->links[i], *y = &b->links[i];
        if (!sf_trace_id_eq(x->trace_id, y->trace_id) || x->span_id != y->span_id ||
            !sf_str_eq(x->trace_state, y->trace_state) || x->flags != y->flags ||
            x->dropped_attrs != y->dropped_attrs || attrs_differ(x->attrs, y->attrs))
            return true;
    }
    return false;
}

static const char *span_difference(const struct sf_span *a, const struct sf_span *b)
{
    if (!sf_trace_id_eq(a->trace_id, b->trace_id) || a->span_id != b->span_id ||
        a->parent_id != b->parent_id)
        return "ids";
    if (a->start_ns != b->start_ns || a->end_ns != b->end_ns)
        return "times";
    if (a->resource != b->resource || a->scope != b->scope)
        return "places";
    if (!sf_str_eq(a->name, b->name))
        return "name";
    if (a->kind != b->kind || a->status != b->status || !sf_str_eq(a->status_msg, b->status_msg))
        return "kind or status";
    if (!sf_str_eq(a->trace_state, b->trace_state) || a->flags != b->flags)
        return "trace state or flags";
    if (a->dropped_attrs != b->dropped_attrs || a->dropped_events != b->dropped_events ||
        a->dropped_links != b->dropped_links)
        return "dropped counts";
    if (attrs_differ(a->attrs, b->attrs))
        return "attributes";
    if (events_differ(a, b))
        return "events";
    return links_differ(a, b) ? "links" : NULL;
}

bool sf_otlp_make_is_same(const struct sf_span_batch *a, const struct sf_span_batch *b,
                          char what[160])
{
    if (a->n_resources != b->n_resources || a->n_scopes != b->n_scopes ||
        a->n_spans != b->n_spans) {
        snprintf(what, 160, "%u/%u/%u resources, scopes, spans against %u/%u/%u", a->n_resources,
                 a->n_scopes, a->n_spans, b->n_resources, b->n_scopes, b->n_spans);
        return false;
    }
    for (uint32_t i = 0; i < a->n_resources; i++) {
        const struct sf_resource *x = &a->resources[i], *y = &b->resources[i];
        if (attrs_differ(x->attrs, y->attrs) || !sf_str_eq(x->schema_url, y->schema_url) ||
            !sf_str_eq(x->service, y->service) || x->dropped_attrs != y->dropped_attrs) {
            snprintf(what, 160, "resource %u", i);
            return false;
        }
    }
    for (uint32_t i = 0; i < a->n_scopes; i++) {
        const struct sf_scope *x = &a->scopes[i], *y = &b->scopes[i];
        if (attrs_differ(x->attrs, y->attrs) || !sf_str_eq(x->schema_url, y->schema_url) ||
            !sf_str_eq(x->name, y->name) || !sf_str_eq(x->version, y->version) ||
            x->dropped_attrs != y->dropped_attrs) {
            snprintf(what, 160, "scope %u", i);
            return false;
        }
    }
    for (uint32_t i = 0; i < a->n_spans; i++) {
        const char *part = span_difference(&a->spans[i], &b->spans[i]);
        if (part) {
            snprintf(what, 160, "%s of span %u", part, i);
            return false;
        }
    }
    return true;
}
