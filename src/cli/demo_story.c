#include "cli/demo_story.h"

#include <string.h>

#include "base/num.h"
#include "model/span.h"
#include "wire/pb_writer.h"

enum { GATEWAY, ORDER, PRICING, INVENTORY, N_SERVICES };

static const char *const services[N_SERVICES] = {"gateway", "order-service", "pricing",
                                                 "inventory"};

enum { MAX_SPANS = 24, MS = 1000000 };

struct planned { /* a span of the trace in hand */
    int service;
    const char *name;
    uint8_t kind;
    sf_span_id id, parent;
    uint64_t start_ns, end_ns;
    const char *error;
    const char *key, *text; /* one attribute of its own; may be NULL */
    int64_t number;         /* when `text` is NULL and `key` is not */
};

struct plan {
    struct planned spans[MAX_SPANS];
    uint32_t n;
    uint64_t now_ns; /* where the request has got to */
};

static uint64_t next_random(struct sf_demo_story *s)
{
    /* xorshift64*: small, seedable, good enough for a story */
    uint64_t x = s->random ? s->random : 1;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    s->random = x;
    return x * 0x2545f4914f6cdd1du;
}

static uint64_t between(struct sf_demo_story *s, uint64_t low, uint64_t high)
{
    return low + next_random(s) % (high - low);
}

static bool one_in(struct sf_demo_story *s, uint64_t n)
{
    return next_random(s) % n == 0;
}

static struct planned *begin(struct sf_demo_story *s, struct plan *p, int service, const char *name,
                             uint8_t kind, sf_span_id parent)
{
    struct planned *span = &p->spans[p->n++];
    SF_ASSERT(p->n <= MAX_SPANS);
    *span = (struct planned){
        .service = service, .name = name, .kind = kind, .parent = parent, .start_ns = p->now_ns};
    while (span->id == 0)
        span->id = next_random(s);
    return span;
}

static void work(struct sf_demo_story *s, struct plan *p, uint64_t low_us, uint64_t high_us)
{
    p->now_ns += between(s, low_us * 1000, high_us * 1000);
}

static void end(struct plan *p, struct planned *span)
{
    span->end_ns = p->now_ns;
}

static void plan_pricing(struct sf_demo_story *s, struct plan *p, sf_span_id parent)
{
    struct planned *call = begin(s, p, ORDER, "POST /price", SF_KIND_CLIENT, parent);
    struct planned *serve;
    work(s, p, 200, 500);
    serve = begin(s, p, PRICING, "POST /price", SF_KIND_SERVER, call->id);
    for (unsigned i = 0; i < 4; i++) {
        struct planned *load = begin(s, p, PRICING, "load attribute", SF_KIND_INTERNAL, serve->id);
        work(s, p, 800, 2000);
        end(p, load);
    }
    if (one_in(s, 12)) {
        struct planned *tax = begin(s, p, PRICING, "applyLegacyTax", SF_KIND_INTERNAL, serve->id);
        work(s, p, 300000, 500000);
        end(p, tax);
    }
    work(s, p, 500, 1500);
    end(p, serve);
    work(s, p, 200, 400);
    end(p, call);
}

static void plan_inventory(struct sf_demo_story *s, struct plan *p, sf_span_id parent)
{
    struct planned *call = begin(s, p, ORDER, "POST /reserve", SF_KIND_CLIENT, parent);
    struct planned *serve, *query;
    work(s, p, 200, 500);
    serve = begin(s, p, INVENTORY, "POST /reserve", SF_KIND_SERVER, call->id);
    query = begin(s, p, INVENTORY, "SELECT stock", SF_KIND_CLIENT, serve->id);
    query->key = "db.system";
    query->text = "sqlite";
    if (one_in(s, 4))
        work(s, p, 60000, 120000);
    else
        work(s, p, 4000, 9000);
    end(p, query);
    work(s, p, 500, 1200);
    if (one_in(s, 20)) {
        serve->error = "item 4711 is out of stock";
        call->error = "409 from inventory";
    }
    end(p, serve);
    work(s, p, 200, 400);
    end(p, call);
}

static void plan_checkout(struct sf_demo_story *s, struct plan *p)
{
    struct planned *root = begin(s, p, GATEWAY, "POST /checkout", SF_KIND_SERVER, 0);
    struct planned *call, *serve, *totals;
    root->key = "http.route";
    root->text = "/checkout";
    work(s, p, 500, 2000);
    call = begin(s, p, GATEWAY, "POST /orders", SF_KIND_CLIENT, root->id);
    work(s, p, 200, 500);
    serve = begin(s, p, ORDER, "POST /orders", SF_KIND_SERVER, call->id);
    totals = begin(s, p, ORDER, "order.calculate_totals", SF_KIND_INTERNAL, serve->id);
    totals->key = "order.items";
    totals->number = (int64_t)between(s, 1, 40);
    work(s, p, 10000, 45000);
    plan_pricing(s, p, totals->id);
    work(s, p, 2000, 6000);
    end(p, totals);
    plan_inventory(s, p, serve->id);
    work(s, p, 300, 900);
    end(p, serve);
    work(s, p, 200, 500);
    end(p, call);
    work(s, p, 1000, 4000);
    if (p->spans[p->n - 2].error) {
        call->error = "409 from order-service";
        root->error = "checkout failed";
    }
    end(p, root);
}

/* ---- OTLP ---- */

static void write_text(struct sf_buf *out, uint32_t field, const char *key, const char *text)
{
    size_t pair = sf_pb_write_begin(out, field), val;
    sf_pb_write_str(out, 1, sf_str_from(key));
    val = sf_pb_write_begin(out, 2);
    sf_pb_write_str(out, 1, sf_str_from(text));
    sf_pb_write_end(out, val);
    sf_pb_write_end(out, pair);
}

static void write_number(struct sf_buf *out, uint32_t field, const char *key, int64_t number)
{
    size_t pair = sf_pb_write_begin(out, field), val;
    sf_pb_write_str(out, 1, sf_str_from(key));
    val = sf_pb_write_begin(out, 2);
    sf_pb_write_i64(out, 3, number);
    sf_pb_write_end(out, val);
    sf_pb_write_end(out, pair);
}

static void write_id(struct sf_buf *out, uint32_t field, sf_span_id id)
{
    uint8_t raw[8];
    sf_store_u64be(raw, id);
    sf_pb_write_bytes(out, field, (sf_bytes){raw, sizeof(raw)});
}

static void write_span(struct sf_buf *out, sf_trace_id trace, const struct planned *p)
{
    size_t span = sf_pb_write_begin(out, 2);
    sf_pb_write_bytes(out, 1, (sf_bytes){trace.b, sizeof(trace.b)});
    write_id(out, 2, p->id);
    if (p->parent)
        write_id(out, 4, p->parent);
    sf_pb_write_str(out, 5, sf_str_from(p->name));
    sf_pb_write_u64(out, 6, p->kind);
    sf_pb_write_fixed64(out, 7, p->start_ns);
    sf_pb_write_fixed64(out, 8, p->end_ns);
    if (p->key && p->text)
        write_text(out, 9, p->key, p->text);
    else if (p->key)
        write_number(out, 9, p->key, p->number);
    if (p->error) {
        size_t status = sf_pb_write_begin(out, 15);
        sf_pb_write_str(out, 2, sf_str_from(p->error));
        sf_pb_write_u64(out, 3, SF_STATUS_ERROR);
        sf_pb_write_end(out, status);
    }
    sf_pb_write_end(out, span);
}

static void write_trace(struct sf_buf *out, sf_trace_id trace, const struct plan *p)
{
    for (int service = 0; service < N_SERVICES; service++) {
        size_t resource_spans = sf_pb_write_begin(out, 1);
        size_t part = sf_pb_write_begin(out, 1);
        write_text(out, 1, "service.name", services[service]);
        write_text(out, 1, "service.version", "1.0.0");
        write_number(out, 1, "process.pid", 1000 + service);
        sf_pb_write_end(out, part);
        part = sf_pb_write_begin(out, 2);
        for (uint32_t i = 0; i < p->n; i++) {
            if (p->spans[i].service == service)
                write_span(out, trace, &p->spans[i]);
        }
        sf_pb_write_end(out, part);
        sf_pb_write_end(out, resource_spans);
    }
}

void sf_demo_story_tell(struct sf_demo_story *s, uint32_t n_traces, uint64_t end_ns,
                        uint64_t spread_ns, struct sf_buf *out)
{
    for (uint32_t i = 0; i < n_traces; i++) {
        struct plan p = {.now_ns = end_ns - spread_ns + spread_ns / n_traces * i};
        sf_trace_id trace;
        uint64_t length_ns;
        sf_store_u64be(trace.b, next_random(s) | 1);
        sf_store_u64be(trace.b + 8, next_random(s) | 1);
        plan_checkout(s, &p);
        length_ns = p.spans[0].end_ns - p.spans[0].start_ns;
        if (length_ns > s->slowest_ns) {
            s->slowest_ns = length_ns;
            s->slowest = trace;
        }
        s->n_traces++;
        s->n_spans += p.n;
        s->n_errors += p.spans[0].error != NULL;
        write_trace(out, trace, &p);
    }
}
