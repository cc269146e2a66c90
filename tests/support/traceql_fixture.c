#include "traceql_fixture.h"

#include <stdio.h>
#include <string.h>

#define STR(key, text)                                \
    {                                                 \
        SF_STR(key),                                  \
        {                                             \
            .type = SF_VALUE_STR, .str = SF_STR(text) \
        }                                             \
    }
#define INT(key, number)                          \
    {                                             \
        SF_STR(key),                              \
        {                                         \
            .type = SF_VALUE_INT, .i64 = (number) \
        }                                         \
    }
#define ATTRS(list)                            \
    {                                          \
        list, sizeof(list) / sizeof((list)[0]) \
    }

enum { GATEWAY, CART, DB, GATEWAY_STAGING, WORKER, N_RESOURCES };
enum { NET_HTTP, APP, N_SCOPES };

static const struct sf_attr gateway[] = {STR("service.name", "gateway"),
                                         STR("deployment.environment", "prod")};
static const struct sf_attr cart[] = {STR("service.name", "cart"),
                                      STR("deployment.environment", "prod")};
static const struct sf_attr db[] = {STR("service.name", "db"),
                                    STR("deployment.environment", "prod")};
static const struct sf_attr staging[] = {STR("service.name", "gateway"),
                                         STR("deployment.environment", "staging")};
static const struct sf_attr worker[] = {STR("service.name", "worker")};

static const struct sf_resource resources[N_RESOURCES] = {
    [GATEWAY] = {.attrs = ATTRS(gateway), .service = SF_STR("gateway")},
    [CART] = {.attrs = ATTRS(cart), .service = SF_STR("cart")},
    [DB] = {.attrs = ATTRS(db), .service = SF_STR("db")},
    [GATEWAY_STAGING] = {.attrs = ATTRS(staging), .service = SF_STR("gateway")},
    [WORKER] = {.attrs = ATTRS(worker), .service = SF_STR("worker")},
};
static const struct sf_scope scopes[N_SCOPES] = {
    [NET_HTTP] = {.name = SF_STR("net/http"), .version = SF_STR("1.0")},
    [APP] = {.name = SF_STR("app")},
};

/* ["x", "y"] as the content of an OTLP ArrayValue. */
#define TAGS "\x0a\x03\x0a\x01x\x0a\x03\x0a\x01y"

static const struct sf_attr a1[] = {
    INT("http.response.status_code", 500),
    STR("http.request.method", "GET"),
    {SF_STR("retry"), {.type = SF_VALUE_BOOL, .is_true = false}},
    {SF_STR("tags"), {.type = SF_VALUE_ARRAY, .str = SF_STR(TAGS)}},
};
static const struct sf_attr a2[] = {INT("http.response.status_code", 500), INT("bytes", 1000)};
static const struct sf_attr a3[] = {INT("http.response.status_code", 500),
                                    INT("bytes", 2000),
                                    {SF_STR("ratio"), {.type = SF_VALUE_DOUBLE, .f64 = 0.5}}};
static const struct sf_attr a4[] = {STR("db.system", "postgresql"), INT("bytes", 300)};
static const struct sf_attr a5[] = {STR("db.system", "postgresql"), INT("bytes", 700)};
static const struct sf_attr a6[] = {INT("pages", 7)};
static const struct sf_attr b1[] = {INT("http.response.status_code", 200)};
static const struct sf_attr c2[] = {STR("http.response.status_code", "500"),
                                    {SF_STR("retry"), {.type = SF_VALUE_BOOL, .is_true = true}}};
static const struct sf_attr c3[] = {INT("bytes", 5)};

static const struct sf_attr exception[] = {STR("exception.type", "IOError"),
                                           STR("exception.message", "disk full")};
static const struct sf_attr reason[] = {STR("reason", "follow")};

/* start and duration in ms */
#define SPAN(trace, id, parent, res, sc, label, kind_of, status_of, start, duration)           \
    .trace_id = {{trace, trace, trace, trace, trace, trace, trace, trace, trace, trace, trace, \
                  trace, trace, trace, trace, trace}},                                         \
    .span_id = (id), .parent_id = (parent), .resource = (res), .scope = (sc),                  \
    .name = SF_STR(label), .kind = (kind_of), .status = (status_of), .start_ns = (start),      \
    .end_ns = (start) + (duration)

static struct sf_event events[1] = {{.name = SF_STR("exception"), .attrs = ATTRS(exception)}};
static struct sf_link links[1] = {{.trace_id = {{0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11,
                                                 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11}},
                                   .span_id = 0xa000000000000001,
                                   .attrs = ATTRS(reason)}};

static const struct sf_span templates[TRACEQL_FIXTURE_SPANS] = {
    {SPAN(0x11, 0xa000000000000001, 0, GATEWAY, NET_HTTP, "GET /cart", SF_KIND_SERVER,
          SF_STATUS_UNSET, 0, 500),
     .attrs = ATTRS(a1)},
    {SPAN(0x11, 0xa000000000000002, 0xa000000000000001, GATEWAY, NET_HTTP, "call cart",
          SF_KIND_CLIENT, SF_STATUS_ERROR, 10, 480),
     .attrs = ATTRS(a2), .status_msg = SF_STR("upstream 500")},
    {SPAN(0x11, 0xa000000000000003, 0xa000000000000002, CART, APP, "POST /items", SF_KIND_SERVER,
          SF_STATUS_ERROR, 20, 450),
     .attrs = ATTRS(a3), .status_msg = SF_STR("boom"), .events = events, .n_events = 1},
    {SPAN(0x11, 0xa000000000000004, 0xa000000000000003, CART, APP, "SELECT items", SF_KIND_CLIENT,
          SF_STATUS_OK, 30, 100),
     .attrs = ATTRS(a4)},
    {SPAN(0x11, 0xa000000000000005, 0xa000000000000003, CART, APP, "SELECT stock", SF_KIND_CLIENT,
          SF_STATUS_ERROR, 140, 300),
     .attrs = ATTRS(a5)},
    {SPAN(0x11, 0xa000000000000006, 0xa000000000000005, DB, APP, "query", SF_KIND_INTERNAL,
          SF_STATUS_UNSET, 150, 280),
     .attrs = ATTRS(a6)},
    {SPAN(0x22, 0xb000000000000001, 0, GATEWAY_STAGING, NET_HTTP, "GET /health", SF_KIND_SERVER,
          SF_STATUS_OK, 1000, 5),
     .attrs = ATTRS(b1)},
    {SPAN(0x22, 0xb000000000000002, 0xb000000000000001, GATEWAY_STAGING, APP, "check",
          SF_KIND_INTERNAL, SF_STATUS_UNSET, 1001, 2),
     .links = links, .n_links = 1},
    {SPAN(0x33, 0xc000000000000002, 0xc000000000000001, WORKER, APP, "process", SF_KIND_CONSUMER,
          SF_STATUS_UNSET, 2000, 50),
     .attrs = ATTRS(c2)},
    {SPAN(0x33, 0xc000000000000003, 0xc000000000000002, WORKER, APP, "step", SF_KIND_INTERNAL,
          SF_STATUS_UNSET, 2010, 10),
     .attrs = ATTRS(c3)},
};

const struct sf_span_batch *traceql_fixture(uint64_t t0_ns)
{
    static struct sf_span spans[TRACEQL_FIXTURE_SPANS];
    static struct sf_span_batch batch;
    memcpy(spans, templates, sizeof(spans));
    for (int i = 0; i < TRACEQL_FIXTURE_SPANS; i++) {
        spans[i].start_ns = t0_ns + spans[i].start_ns * 1000000;
        spans[i].end_ns = t0_ns + spans[i].end_ns * 1000000;
    }
    events[0].time_ns = spans[2].start_ns + 100000000;
    batch = (struct sf_span_batch){resources,   scopes,   spans,
                                   N_RESOURCES, N_SCOPES, TRACEQL_FIXTURE_SPANS};
    return &batch;
}

const char *traceql_fixture_name(sf_span_id id)
{
    static char names[16][3];
    static unsigned next;
    char *name = names[next++ % 16];
    unsigned letter = (unsigned)(id >> 60), digit = (unsigned)(id & 15);
    if (letter < 10 || letter > 12 || digit > 6)
        return "??";
    snprintf(name, 3, "%c%u", (char)('a' + (letter - 10)), digit);
    return name;
}
