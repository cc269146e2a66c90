#include "serve/router.h"

#include <stdio.h>

#include "base/heap.h"
#include "test.h"

/* ---- a service with a store that only knows its pressure ---- */

static enum sf_pressure pressure;
static bool is_brief;
static enum sf_pressure fake_pressure(__attribute__((unused)) struct sf_store *s,
                                      bool *out_is_brief)
{
    *out_is_brief = is_brief;
    return pressure;
}
static const struct sf_store_ops ops = {.name = "fake", .pressure = fake_pressure};
static struct sf_store store = {&ops};

static bool fake_token(__attribute__((unused)) void *arg, sf_str token, struct sf_grant *out)
{
    static const struct {
        const char *token;
        unsigned scopes;
        const char *tenants;
    } known[] = {{"reader", SF_MAY_READ, ""},
                 {"writer", SF_MAY_WRITE, ""},
                 {"boss", SF_MAY_READ | SF_MAY_WRITE | SF_MAY_ADMIN, ""},
                 {"red", SF_MAY_READ | SF_MAY_WRITE | SF_MAY_ADMIN, "red"},
                 {"warm", SF_MAY_READ | SF_MAY_WRITE, "red,orange"}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (sf_str_eq(token, sf_str_from(known[i].token))) {
            out->scopes = known[i].scopes;
            sf_buf_add_str(&out->tenants, sf_str_from(known[i].tenants));
            return true;
        }
    }
    return false;
}

static bool fake_is_proxy(__attribute__((unused)) void *arg, const char *peer)
{
    return sf_str_starts(sf_str_from(peer), SF_STR("10.0.0.1:"));
}

static bool fake_user(__attribute__((unused)) void *arg, sf_str user, sf_str groups,
                      struct sf_grant *out)
{
    out->scopes = SF_MAY_READ | (sf_str_eq(groups, SF_STR("sre")) ? SF_MAY_ADMIN : 0);
    return sf_str_eq(user, SF_STR("ann"));
}

static struct sf_service *new_service(void)
{
    struct sf_service *s = sf_heap_new(sizeof(*s));
    assert_non_null(s);
    assert_ok(sf_service_init(s, NULL));
    atomic_store(&s->store, &store);
    atomic_store(&s->state, SF_SERVICE_READY);
    pressure = SF_PRESSURE_NONE;
    is_brief = false;
    return s;
}

static void free_service(struct sf_service *s)
{
    sf_service_done(s);
    sf_heap_free(s);
}

static struct sf_response response;
static struct sf_call call;
static struct sf_header headers[8];

static struct sf_request request(enum sf_method method, const char *path)
{
    return (struct sf_request){.method = method,
                               .path = sf_str_from(path),
                               .headers = headers,
                               .content_type = SF_STR("application/json")};
}

static void header(struct sf_request *r, sf_str name, sf_str val)
{
    headers[r->n_headers++] = (struct sf_header){name, val};
}

static int admit(struct sf_service *s, const struct sf_request *r)
{
    sf_response_done(&response);
    response = (struct sf_response){0};
    call = (struct sf_call){0};
    return sf_router_admit(s, r, &response, &call) ? 0
           : r->is_grpc                            ? response.grpc_status
                                                   : response.status;
}

static bool has_header(const char *name, const char *val)
{
    for (uint32_t i = 0; i < response.n_headers; i++) {
        if (sf_str_eq(response.headers[i].name, sf_str_from(name)))
            return sf_str_eq(response.headers[i].val, sf_str_from(val));
    }
    return false;
}

TEST(router, finds_the_route_and_its_argument)
{
    struct sf_service *s = new_service();
    struct sf_request r = request(SF_METHOD_GET, "/api/traces/5b8e");
    assert_int_equal(admit(s, &r), 0);
    assert_str(call.arg, "5b8e");
    assert_str(call.tenant, "single-tenant");
    r = request(SF_METHOD_HEAD, "/ready");
    assert_int_equal(admit(s, &r), 0);
    r = request(SF_METHOD_GET, "/api/traces/5b8e/more");
    assert_int_equal(admit(s, &r), 404);
    r = request(SF_METHOD_GET, "/api/traces/");
    assert_int_equal(admit(s, &r), 404);
    free_service(s);
}

TEST(router, suggests_the_path_that_was_meant)
{
    struct sf_service *s = new_service();
    struct sf_request r = request(SF_METHOD_POST, "/v1/traces/");
    size_t at;
    assert_int_equal(admit(s, &r), 404);
    assert_true(sf_str_find(sf_buf_str(&response.body), SF_STR("did you mean /v1/traces"), &at));
    r = request(SF_METHOD_POST, "/");
    assert_int_equal(admit(s, &r), 405);
    assert_true(sf_str_find(sf_buf_str(&response.body), SF_STR("/v1/traces"), &at));
    r = request(SF_METHOD_GET, "/something/else/entirely");
    assert_int_equal(admit(s, &r), 404);
    assert_false(sf_str_find(sf_buf_str(&response.body), SF_STR("did you mean"), &at));
    free_service(s);
}

/* What is thrown away needs no store; the sender must not repeat it because there is none. */
TEST(router, takes_signals_that_are_discarded_whatever_the_store_says)
{
    struct sf_service *s = new_service();
    struct sf_request metrics = request(SF_METHOD_POST, "/v1/metrics");
    struct sf_request traces = request(SF_METHOD_POST, "/v1/traces");
    pressure = SF_PRESSURE_REFUSE;
    assert_int_not_equal(admit(s, &traces), 0);
    assert_int_equal(admit(s, &metrics), 0);
    atomic_store(&s->store, NULL);
    atomic_store(&s->state, SF_SERVICE_STARTING);
    assert_int_equal(admit(s, &traces), 503);
    assert_int_equal(admit(s, &metrics), 0);
    for (uintptr_t i = 1; !sf_queue_give(s->ingest, (void *)i) && i < SF_LIMIT_INGEST_QUEUE;)
        i++;
    assert_int_equal(admit(s, &metrics), 429);
    free_service(s);
}

TEST(router, answers_a_wrong_method_with_those_that_work)
{
    struct sf_service *s = new_service();
    struct sf_request r = request(SF_METHOD_GET, "/v1/traces");
    assert_int_equal(admit(s, &r), 405);
    assert_true(has_header("allow", "POST"));
    r = request(SF_METHOD_PUT, "/api/v1/erase");
    assert_int_equal(admit(s, &r), 405);
    assert_true(has_header("allow", "POST, DELETE"));
    r = request(SF_METHOD_POST, "/api/v1/symbols/00");
    assert_int_equal(admit(s, &r), 405);
    assert_true(has_header("allow", "PUT, DELETE"));
    r = request(SF_METHOD_POST, "/ready");
    assert_int_equal(admit(s, &r), 405);
    assert_true(has_header("allow", "GET, HEAD"));
    free_service(s);
}

TEST(router, takes_only_otlps_content_types_for_otlp)
{
    struct sf_service *s = new_service();
    struct sf_request r = request(SF_METHOD_POST, "/v1/traces");
    assert_int_equal(admit(s, &r), 0);
    assert_int_equal(call.form, SF_FORM_OTLP_JSON);
    r.content_type = SF_STR("application/x-protobuf");
    assert_int_equal(admit(s, &r), 0);
    assert_int_equal(call.form, SF_FORM_OTLP_PB);
    r.content_type = SF_STR("text/plain");
    assert_int_equal(admit(s, &r), 415);
    r.content_type = SF_STR_NONE;
    assert_int_equal(admit(s, &r), 415);
    r.content_type = SF_STR("application/json");
    r.coding = SF_CODING_OTHER;
    assert_int_equal(admit(s, &r), 415);
    free_service(s);
}

TEST(router, knows_grpc_methods_and_refuses_others_as_unimplemented)
{
    struct sf_service *s = new_service();
    struct sf_request r = request(SF_METHOD_POST,
                                  "/opentelemetry.proto.collector.trace.v1.TraceService/Export");
    r.is_grpc = r.is_h2 = true;
    r.content_type = SF_STR("application/grpc");
    assert_int_equal(admit(s, &r), 0);
    assert_int_equal(call.form, SF_FORM_GRPC);
    r.path = SF_STR("/some.Service/Method");
    assert_int_equal(admit(s, &r), SF_GRPC_UNIMPLEMENTED);
    r.path = SF_STR("/v1/traces"); /* HTTP paths are not gRPC methods */
    assert_int_equal(admit(s, &r), SF_GRPC_UNIMPLEMENTED);
    r = request(SF_METHOD_POST, "/opentelemetry.proto.collector.trace.v1.TraceService/Export");
    assert_int_equal(admit(s, &r), 415);
    free_service(s);
}

TEST(router, asks_every_route_but_the_probes_for_a_token)
{
    struct sf_service *s = new_service();
    s->auth.token = fake_token;
    struct sf_request r = request(SF_METHOD_GET, "/api/v1/services");
    assert_int_equal(admit(s, &r), 401);
    assert_true(has_header("www-authenticate", "Bearer"));
    header(&r, SF_STR("authorization"), SF_STR("Bearer nobody"));
    assert_int_equal(admit(s, &r), 401);
    headers[0].val = SF_STR("bearer reader");
    assert_int_equal(admit(s, &r), 0);
    headers[0].val = SF_STR("Bearer writer");
    assert_int_equal(admit(s, &r), 403);
    r = request(SF_METHOD_GET, "/ready");
    assert_int_equal(admit(s, &r), 0);
    r = request(SF_METHOD_GET, "/api/echo");
    assert_int_equal(admit(s, &r), 0);
    r = request(SF_METHOD_GET, "/metrics");
    assert_int_equal(admit(s, &r), 401);
    free_service(s);
}

TEST(router, keeps_the_scopes_apart)
{
    static const struct {
        enum sf_method method;
        const char *path, *token;
        int want;
    } cases[] = {
        {SF_METHOD_POST, "/v1/traces", "reader", 403},
        {SF_METHOD_POST, "/v1/traces", "writer", 0},
        {SF_METHOD_GET, "/api/traces/1", "writer", 403},
        {SF_METHOD_GET, "/api/traces/1", "reader", 0},
        {SF_METHOD_POST, "/api/v1/erase", "reader", 403},
        {SF_METHOD_POST, "/api/v1/erase", "writer", 403},
        {SF_METHOD_POST, "/api/v1/erase", "boss", 0},
        {SF_METHOD_POST, "/api/v1/flush", "writer", 403},
    };
    struct sf_service *s = new_service();
    s->auth.token = fake_token;
    s->auth.header = SF_STR("x-api-key");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sf_request r = request(cases[i].method, cases[i].path);
        header(&r, SF_STR("x-api-key"), sf_str_from(cases[i].token));
        if (admit(s, &r) != cases[i].want)
            fail_msg("%s with %s gives %d", cases[i].path, cases[i].token, admit(s, &r));
    }
    free_service(s);
}

TEST(router, takes_a_token_as_basic_password)
{
    struct sf_service *s = new_service();
    s->auth.token = fake_token;
    struct sf_request r = request(SF_METHOD_GET, "/metrics");
    header(&r, SF_STR("authorization"), SF_STR("Basic dXNlcjpyZWFkZXI=")); /* user:reader */
    assert_int_equal(admit(s, &r), 0);
    headers[0].val = SF_STR("Basic dXNlcg=="); /* no colon */
    assert_int_equal(admit(s, &r), 401);
    headers[0].val = SF_STR("Basic !!!");
    assert_int_equal(admit(s, &r), 401);
    headers[0].val = SF_STR("Digest x");
    assert_int_equal(admit(s, &r), 401);
    free_service(s);
}

TEST(router, wants_a_tenant_only_when_there_are_tenants)
{
    struct sf_service *s = new_service();
    struct sf_request r = request(SF_METHOD_POST, "/v1/traces");
    header(&r, SF_STR("x-scope-orgid"), SF_STR("red"));
    assert_int_equal(admit(s, &r), 0);
    assert_str(call.tenant, "single-tenant");
    s->has_tenancy = true;
    assert_int_equal(admit(s, &r), 0);
    assert_str(call.tenant, "red");
    headers[0].val = SF_STR("red|blue");
    assert_int_equal(admit(s, &r), 400);
    r.n_headers = 0;
    assert_int_equal(admit(s, &r), 401);
    size_t at;
    assert_true(sf_str_find(sf_buf_str(&response.body), SF_STR("no org id"), &at));
    r = request(SF_METHOD_GET, "/api/traces/1");
    header(&r, SF_STR("x-scope-orgid"), SF_STR("red|blue"));
    assert_int_equal(admit(s, &r), 0);
    r = request(SF_METHOD_GET, "/ready");
    assert_int_equal(admit(s, &r), 0);
    free_service(s);
}

TEST(router, refuses_work_while_starting_but_answers_probes)
{
    struct sf_service *s = new_service();
    atomic_store(&s->state, SF_SERVICE_STARTING);
    atomic_store(&s->store, NULL);
    atomic_store(&s->replay_done_len, 5000000);
    atomic_store(&s->replay_all_len, 10000000);
    struct sf_request r = request(SF_METHOD_POST, "/v1/traces");
    size_t at;
    assert_int_equal(admit(s, &r), 503);
    assert_true(response.retry_after_s > 0);
    assert_true(sf_str_find(sf_buf_str(&response.body), SF_STR("5 of 10 MB"), &at));
    r = request(SF_METHOD_GET, "/api/traces/1");
    assert_int_equal(admit(s, &r), 503);
    r = request(SF_METHOD_GET, "/ready");
    assert_int_equal(admit(s, &r), 0);
    free_service(s);
}

TEST(router, pushes_back_when_the_store_does)
{
    struct sf_service *s = new_service();
    struct sf_request r = request(SF_METHOD_POST, "/v1/traces");
    pressure = SF_PRESSURE_REFUSE;
    assert_int_equal(admit(s, &r), 503);
    assert_true(response.retry_after_s > 0);
    struct sf_request read = request(SF_METHOD_GET, "/api/traces/1");
    assert_int_equal(admit(s, &read), 0); /* reading continues */
    pressure = SF_PRESSURE_SPANS;
    int n_taken = 0, n_refused = 0;
    for (int i = 0; i < 200; i++) {
        int status = admit(s, &r);
        n_taken += status == 0;
        n_refused += status == 429;
    }
    assert_int_equal(n_taken + n_refused, 200);
    assert_true(n_taken > 40 && n_refused > 40);
    struct sf_request profile = request(SF_METHOD_POST, "/ingest");
    assert_int_equal(admit(s, &profile), 429);
    assert_true(response.retry_after_s > 0);
    pressure = SF_PRESSURE_PROFILES; /* profiles go before spans */
    assert_int_equal(admit(s, &profile), 429);
    for (int i = 0; i < 50; i++)
        assert_int_equal(admit(s, &r), 0);
    pressure = SF_PRESSURE_DETAIL; /* nothing is refused as a whole */
    assert_int_equal(admit(s, &profile), 0);
    assert_int_equal(admit(s, &r), 0);
    free_service(s);
}

TEST(router, admits_what_may_wait_for_memory)
{
    struct sf_service *s = new_service();
    struct sf_request spans = request(SF_METHOD_POST, "/v1/traces");
    struct sf_request profile = request(SF_METHOD_POST, "/ingest");
    static int item;
    pressure = SF_PRESSURE_SPANS;
    is_brief = true;
    for (int i = 0; i < 50; i++) {
        assert_int_equal(admit(s, &spans), 0);
        assert_int_equal(admit(s, &profile), 0);
    }
    for (int i = 0; i < SF_LIMIT_INGEST_QUEUE / 2; i++)
        assert_ok(sf_queue_give(s->ingest, &item));
    assert_int_equal(admit(s, &profile), 429); /* the other half is for spans */
    assert_int_equal(admit(s, &spans), 0);
    pressure = SF_PRESSURE_REFUSE;
    assert_int_equal(admit(s, &spans), 503);
    while (sf_queue_depth(s->ingest) > 0)
        (void)sf_queue_take(s->ingest);
    free_service(s);
}

TEST(router, pushes_back_when_too_much_is_waiting)
{
    struct sf_service *s = new_service();
    struct sf_request r = request(SF_METHOD_POST, "/v1/traces");
    r.is_grpc = true;
    r.path = SF_STR("/opentelemetry.proto.collector.trace.v1.TraceService/Export");
    static int item;
    while (sf_queue_give(s->ingest, &item) == SF_OK)
        continue;
    assert_int_equal(admit(s, &r), SF_GRPC_RESOURCE_EXHAUSTED);
    assert_true(response.retry_after_s > 0);
    while (sf_queue_depth(s->ingest) > 0)
        (void)sf_queue_take(s->ingest);
    assert_int_equal(admit(s, &r), 0); /* and recovers by itself */
    free_service(s);
}

TEST(router, lets_listed_origins_in_and_no_others)
{
    static const char *const origins[] = {"https://other.example", "https://app.example"},
                             *const any[] = {"*"};
    struct sf_service *s = new_service();
    struct sf_request r = request(SF_METHOD_OPTIONS, "/v1/traces");
    header(&r, SF_STR("origin"), SF_STR("https://app.example"));
    header(&r, SF_STR("access-control-request-method"), SF_STR("POST"));
    header(&r, SF_STR("access-control-request-headers"), SF_STR("content-type,x-scope-orgid"));
    assert_int_equal(admit(s, &r), 405); /* none configured */
    s->cors_origins = origins;
    s->n_cors_origins = 2;
    assert_int_equal(admit(s, &r), 204);
    assert_true(has_header("vary", "Origin")); /* or a cache gives it to another page */
    assert_true(has_header("access-control-expose-headers", "retry-after"));
    assert_true(has_header("access-control-max-age", "7200"));
    assert_true(has_header("access-control-allow-origin", "https://app.example"));
    assert_true(has_header("access-control-allow-headers", "content-type,x-scope-orgid"));
    assert_true(has_header("access-control-allow-methods", "POST"));
    headers[0].val = SF_STR("https://evil.example");
    assert_int_equal(admit(s, &r), 405);
    assert_false(has_header("access-control-allow-origin", "https://evil.example"));
    r = request(SF_METHOD_POST, "/v1/traces");
    header(&r, SF_STR("origin"), SF_STR("https://app.example"));
    assert_int_equal(admit(s, &r), 0);
    assert_true(has_header("access-control-allow-origin", "https://app.example"));
    header(&r, SF_STR("access-control-request-method"),
           SF_STR("POST")); /* requested by no OPTIONS */
    assert_int_equal(admit(s, &r), 0);
    r = request(SF_METHOD_POST, "/v1/traces");
    s->cors_origins = any;
    s->n_cors_origins = 1;
    assert_int_equal(admit(s, &r), 0); /* no page: nothing to allow */
    assert_false(has_header("access-control-allow-origin", ""));
    free_service(s);
    sf_response_done(&response);
    response = (struct sf_response){0};
}

static const char *refusal(struct sf_service *s, const char *path, sf_str content_type, int status)
{
    struct sf_request r = request(SF_METHOD_POST, path);
    r.content_type = content_type;
    sf_response_done(&response);
    response = (struct sf_response){.status = status};
    sf_router_on_refuse(s, &r, &response, "a body of 3 bytes");
    sf_buf_add_u8(&response.body, 0);
    return (const char *)response.body.p;
}

TEST(router, shapes_the_listeners_refusals_as_its_own)
{
    struct sf_service *s = new_service();
    uint64_t before = sf_counters_get(s->counters, SF_COUNT_REJECT_TOO_LARGE);
    assert_string_equal(refusal(s, "/v1/traces", SF_STR("application/json"), 413),
                        "{\"code\":8,\"message\":\"a body of 3 bytes\"}");
    assert_string_equal(response.content_type, "application/json");
    assert_string_equal(refusal(s, "/v1/traces", SF_STR("application/x-protobuf"), 413),
                        "\x08\x08\x12\x11"
                        "a body of 3 bytes");
    assert_int_equal(response.status, 413);
    assert_string_equal(refusal(s, "/ingest", SF_STR("text/plain"), 413),
                        "{\"code\":\"invalid_argument\",\"message\":\"a body of 3 bytes\"}");
    assert_int_equal(response.status, 413);
    assert_string_equal(refusal(s, "/api/v1/erase", SF_STR("application/json"), 408),
                        "a body of 3 bytes\n");
    assert_string_equal(refusal(s, "/v1/unknown", SF_STR("application/json"), 503),
                        "{\"code\":14,\"message\":\"a body of 3 bytes\"}");
    assert_int_equal(sf_counters_get(s->counters, SF_COUNT_REJECT_TOO_LARGE) - before, 3);
    free_service(s);
    sf_response_done(&response);
    response = (struct sf_response){0};
}

TEST(router, answers_only_to_names_nobody_else_can_own)
{
    static const char *const listed[] = {"a.example", "*.corp.example"};
    static const struct {
        const char *authority;
        bool is_ours;
    } cases[] = {
        {"", true},
        {"10.0.0.1:80", true},
        {"10.0.0.1.:80", false},
        {"10.0.0.256", false},
        {"[fe80::1%25eth0]:4040", true},
        {"[::1].evil.example", false},
        {"[::1", false},
        {"localhost", true},
        {"localhost.", true},
        {"x.localhost:1", true},
        {"xlocalhost.", false},
        {"notlocalhost", true},
        {"compose_name:4318", true},
        {"ai.", false},
        {"a b", false},
        {"host.own.example", true},
        {"HOST.own.example:1", true},
        {"own.example", false},
        {"a.example:443", true},
        {"b.a.example", false},
        {"x.corp.example.", true},
        {".corp.example", false},
        {"corp.example", false},
        {":80", false},
        {"user@10.0.0.1", false},
    };
    struct sf_service *s = new_service();
    s->hosts = listed;
    s->n_hosts = 2;
    s->own_names = SF_STR("host host.own.example");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sf_request r = request(SF_METHOD_GET, "/api/v1/services");
        r.authority = sf_str_from(cases[i].authority);
        if (admit(s, &r) != (cases[i].is_ours ? 0 : 421))
            fail_msg("%s: %d", cases[i].authority, response.status);
        r.is_tls = true; /* the certificate has settled it */
        assert_int_equal(admit(s, &r), 0);
    }
    free_service(s);
}

TEST(router, binds_tokens_to_tenants)
{
    static const struct {
        const char *token, *header, *path;
        enum sf_method method;
        int want;
        const char *tenant;
    } cases[] = {
        {"red", "red", "/api/v1/services", SF_METHOD_GET, 0, "red"},
        {"red", "", "/api/v1/services", SF_METHOD_GET, 0, "red"},
        {"red", "blue", "/api/v1/services", SF_METHOD_GET, 403, NULL},
        {"red", "red|blue", "/api/v1/services", SF_METHOD_GET, 403, NULL},
        {"red", "Red", "/api/v1/services", SF_METHOD_GET, 403, NULL},
        {"red", "blue", "/v1/traces", SF_METHOD_POST, 403, NULL},
        {"red", "", "/v1/traces", SF_METHOD_POST, 0, "red"},
        {"red", "", "/api/v1/erase", SF_METHOD_POST, 0, "red"},
        {"red", "blue", "/api/v1/erase", SF_METHOD_POST, 403, NULL},
        {"red", "", "/api/v1/flush", SF_METHOD_POST, 403, NULL},
        {"red", "", "/status/config", SF_METHOD_GET, 403, NULL},
        {"boss", "", "/status/config", SF_METHOD_GET, 0, NULL},
        {"warm", "", "/api/v1/services", SF_METHOD_GET, 401, NULL},
        {"warm", "orange|red", "/api/v1/services", SF_METHOD_GET, 0, "orange|red"},
        {"warm", "orange", "/v1/traces", SF_METHOD_POST, 0, "orange"},
        {"reader", "anything", "/api/v1/services", SF_METHOD_GET, 0, "anything"},
        {"reader", "", "/api/v1/services", SF_METHOD_GET, 401, NULL},
    };
    struct sf_service *s = new_service();
    s->auth.token = fake_token;
    s->auth.header = SF_STR("x-api-key");
    s->has_tenancy = true;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sf_request r = request(cases[i].method, cases[i].path);
        header(&r, SF_STR("x-api-key"), sf_str_from(cases[i].token));
        if (cases[i].header[0])
            header(&r, SF_STR("x-scope-orgid"), sf_str_from(cases[i].header));
        if (admit(s, &r) != cases[i].want)
            fail_msg("%s as %s: %d", cases[i].path, cases[i].header, response.status);
        if (cases[i].tenant)
            assert_true(sf_str_eq(call.tenant, sf_str_from(cases[i].tenant)));
    }
    s->has_tenancy = false; /* whose is everything then? Not the red ones'. */
    struct sf_request r = request(SF_METHOD_GET, "/api/v1/services");
    header(&r, SF_STR("x-api-key"), SF_STR("red"));
    assert_int_equal(admit(s, &r), 403);
    free_service(s);
}

TEST(router, believes_only_the_proxy)
{
    static const struct {
        const char *peer, *user, *second, *groups, *path;
        int want;
    } cases[] = {
        {"10.0.0.1:5", "ann", "", "", "/api/v1/services", 0},
        {"10.0.0.2:5", "ann", "", "", "/api/v1/services", 401},
        {"10.0.0.1:5", "", "", "", "/api/v1/services", 401},
        {"10.0.0.1:5", "eve", "", "", "/api/v1/services", 403},
        {"10.0.0.1:5", "ann", "eve", "", "/api/v1/services", 403},
        {"10.0.0.1:5", "ann", "ann", "", "/api/v1/services", 403},
        {"10.0.0.1:5", "ann", "", "", "/status/config", 403},
        {"10.0.0.1:5", "ann", "", "sre", "/status/config", 0},
    };
    struct sf_service *s = new_service();
    s->auth.user = fake_user;
    s->auth.is_proxy = fake_is_proxy;
    s->auth.user_header = SF_STR("x-user");
    s->auth.groups_header = SF_STR("x-groups");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sf_request r = request(SF_METHOD_GET, cases[i].path);
        snprintf(r.peer, sizeof(r.peer), "%s", cases[i].peer);
        if (cases[i].user[0])
            header(&r, SF_STR("x-user"), sf_str_from(cases[i].user));
        if (cases[i].second[0])
            header(&r, SF_STR("x-user"), sf_str_from(cases[i].second));
        if (cases[i].groups[0])
            header(&r, SF_STR("x-groups"), sf_str_from(cases[i].groups));
        if (admit(s, &r) != cases[i].want)
            fail_msg("%zu: %d", i, response.status);
    }
    /* A page of a rebound name can write the header, but not the name it is called by. */
    struct sf_request r = request(SF_METHOD_GET, "/api/v1/services");
    snprintf(r.peer, sizeof(r.peer), "10.0.0.1:5");
    header(&r, SF_STR("x-user"), SF_STR("ann"));
    r.authority = SF_STR("evil.example");
    assert_int_equal(admit(s, &r), 421);
    s->auth.token = fake_token;
    assert_int_equal(admit(s, &r), 421);
    free_service(s);
}
