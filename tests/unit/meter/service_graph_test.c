#include "meter/service_graph.h"

#include "base/heap.h"
#include "base/limits.h"
#include "strict_text.h"

#define S      ((int64_t)1000000000)
#define NOW_NS ((int64_t)1700000000 * S)

enum { SHOP, CART, NAMELESS, N_RESOURCES };

static struct sf_attr shop[] = {
    {.key = {"service.name", 12}, .val = {.type = SF_VALUE_STR, .str = {"shop", 4}}},
    {.key = {"service.namespace", 17}, .val = {.type = SF_VALUE_STR, .str = {"front", 5}}}};
static struct sf_attr cart[] = {
    {.key = {"service.name", 12}, .val = {.type = SF_VALUE_STR, .str = {"cart", 4}}}};
static const struct sf_resource resources[N_RESOURCES] = {
    {.attrs = {shop, 2}, .service = {"shop", 4}},
    {.attrs = {cart, 1}, .service = {"cart", 4}},
    {.service = {"unknown_service", 15}}};

static struct sf_span span(uint32_t resource, uint8_t kind, sf_span_id id, sf_span_id parent,
                           uint64_t ms)
{
    struct sf_span s = {.resource = resource, .kind = kind, .span_id = id, .parent_id = parent};
    s.trace_id.b[15] = 7;
    s.end_ns = (uint64_t)NOW_NS;
    s.start_ns = s.end_ns - ms * 1000000;
    return s;
}

static struct sf_attr text_attr(const char *key, const char *val)
{
    return (struct sf_attr){.key = sf_str_from(key),
                            .val = {.type = SF_VALUE_STR, .str = sf_str_from(val)}};
}

static void add_to(struct sf_service_graph *g, sf_str tenant, const struct sf_span *spans,
                   uint32_t n, int64_t now_ns)
{
    struct sf_arena req;
    struct sf_graph_tally tally = {0};
    struct sf_span_batch batch = {
        .resources = resources, .n_resources = N_RESOURCES, .spans = spans, .n_spans = n};
    assert_true(sf_arena_init(&req, 64 << 20));
    assert_true(sf_service_graph_tally(g, &batch, now_ns, &req, &tally));
    sf_service_graph_add(g, tenant, &tally, now_ns);
    sf_arena_done(&req);
}

static void add(struct sf_service_graph *g, struct sf_span s, int64_t now_ns)
{
    add_to(g, SF_STR_NONE, &s, 1, now_ns);
}

static struct sf_buf out;

static char *render(struct sf_service_graph *g, bool is_open, int64_t now_ns)
{
    struct sf_exposition e = {.out = &out, .is_open_metrics = is_open};
    sf_buf_reset(&out);
    sf_service_graph_render(g, now_ns, &e);
    sf_exposition_end(&e);
    sf_buf_add_u8(&out, 0);
    assert_true(sf_buf_ok(&out));
    strict_text_check((char *)out.p, is_open);
    return (char *)out.p;
}

static void done(struct sf_service_graph *g)
{
    sf_service_graph_free(g);
    sf_buf_done(&out);
    out = (struct sf_buf){0};
}

#define EDGE "client=\"shop\",server=\"cart\",connection_type=\"\""

TEST(service_graph, counts_a_request_once_both_sides_are_there)
{
    struct sf_service_graph *g = sf_service_graph_new(NULL);
    add(g, span(SHOP, SF_KIND_CLIENT, 1, 9, 300), NOW_NS);
    assert_null(strstr(render(g, false, NOW_NS), "request_total{"));
    add(g, span(CART, SF_KIND_SERVER, 2, 1, 250), NOW_NS + S);
    char *text = render(g, false, NOW_NS + S);
    assert_non_null(strstr(text, "traces_service_graph_request_total{" EDGE "} 1\n"));
    assert_non_null(strstr(text, "traces_service_graph_request_failed_total{" EDGE "} 0\n"));
    assert_non_null(strstr(text, "request_server_seconds_bucket{" EDGE ",le=\"0.2\"} 0\n"));
    assert_non_null(strstr(text, "request_server_seconds_bucket{" EDGE ",le=\"0.4\"} 1\n"));
    assert_non_null(strstr(text, "request_server_seconds_bucket{" EDGE ",le=\"12.8\"} 1\n"));
    assert_non_null(strstr(text, "request_server_seconds_sum{" EDGE "} 0.25\n"));
    assert_non_null(strstr(text, "request_client_seconds_sum{" EDGE "} 0.3\n"));
    assert_non_null(strstr(text, "spanflame_service_graph_waiting 0\n"));
    done(g);
}

TEST(service_graph, takes_the_callee_first_too)
{
    struct sf_service_graph *g = sf_service_graph_new(NULL);
    struct sf_span spans[] = {span(CART, SF_KIND_SERVER, 2, 1, 250),
                              span(SHOP, SF_KIND_CLIENT, 1, 9, 300)};
    add_to(g, SF_STR_NONE, spans, 2, NOW_NS);
    assert_non_null(strstr(render(g, false, NOW_NS), "request_total{" EDGE "} 1\n"));
    done(g);
}

TEST(service_graph, pairs_by_trace_and_span_and_tenant)
{
    struct sf_service_graph *g = sf_service_graph_new(NULL);
    struct sf_span client = span(SHOP, SF_KIND_CLIENT, 1, 9, 1);
    struct sf_span other_span = span(CART, SF_KIND_SERVER, 2, 3, 1);
    struct sf_span other_trace = span(CART, SF_KIND_SERVER, 2, 1, 1);
    struct sf_span server = other_trace;
    other_trace.trace_id.b[0] = 1;
    add_to(g, SF_STR("red"), &client, 1, NOW_NS);
    add_to(g, SF_STR("red"), &other_span, 1, NOW_NS);
    add_to(g, SF_STR("red"), &other_trace, 1, NOW_NS);
    add_to(g, SF_STR("blue"), &server, 1, NOW_NS);
    assert_null(strstr(render(g, false, NOW_NS), "request_total{"));
    add_to(g, SF_STR("red"), &server, 1, NOW_NS);
    assert_non_null(strstr(render(g, false, NOW_NS), "request_total{" EDGE ",tenant=\"red\"} 1\n"));
    done(g);
}

TEST(service_graph, calls_a_request_failed_when_either_side_says_so)
{
    struct sf_service_graph *g = sf_service_graph_new(NULL);
    for (sf_span_id id = 1; id <= 3; id++) {
        struct sf_span client = span(SHOP, SF_KIND_CLIENT, id * 10, 9, 1);
        struct sf_span server = span(CART, SF_KIND_SERVER, id * 10 + 1, id * 10, 1);
        client.status = id == 1 ? SF_STATUS_ERROR : SF_STATUS_UNSET;
        server.status = id == 2 ? SF_STATUS_ERROR : SF_STATUS_OK;
        add(g, client, NOW_NS);
        add(g, server, NOW_NS);
    }
    char *text = render(g, false, NOW_NS);
    assert_non_null(strstr(text, "request_total{" EDGE "} 3\n"));
    assert_non_null(strstr(text, "request_failed_total{" EDGE "} 2\n"));
    done(g);
}

TEST(service_graph, tells_queues_databases_and_strangers_apart)
{
    struct sf_service_graph *g = sf_service_graph_new(NULL);
    struct sf_attr db[] = {text_attr("db.system", "postgresql"), text_attr("db.name", "orders")};
    struct sf_attr at[] = {
        text_attr("db.system", "redis"),
        text_attr("network.peer.address", "10.0.0.7"),
        {.key = SF_STR("network.peer.port"), .val = {.type = SF_VALUE_INT, .i64 = 6379}}};
    struct sf_attr peer[] = {text_attr("peer.service", "mail")};
    struct sf_span query = span(CART, SF_KIND_CLIENT, 5, 1, 100);
    struct sf_span cache = span(CART, SF_KIND_CLIENT, 6, 1, 100);
    struct sf_span mail = span(CART, SF_KIND_CLIENT, 7, 1, 100);
    query.attrs = (struct sf_attrs){db, 2};
    cache.attrs = (struct sf_attrs){at, 3};
    mail.attrs = (struct sf_attrs){peer, 1};
    add(g, span(SHOP, SF_KIND_PRODUCER, 1, 9, 1), NOW_NS);
    add(g, span(CART, SF_KIND_CONSUMER, 2, 1, 1), NOW_NS);
    add(g, query, NOW_NS);
    add(g, cache, NOW_NS);
    add(g, mail, NOW_NS);
    add(g, span(SHOP, SF_KIND_SERVER, 3, 0, 500), NOW_NS);
    char *text = render(g, false, NOW_NS);
    assert_non_null(strstr(text, "request_total{client=\"shop\",server=\"cart\","
                                 "connection_type=\"messaging_system\"} 1\n"));
    assert_non_null(strstr(
        text, "request_total{client=\"cart\",server=\"orders\",connection_type=\"database\"} 1\n"));
    assert_non_null(strstr(text, "request_total{client=\"cart\",server=\"10.0.0.7:6379\","
                                 "connection_type=\"database\"} 1\n"));
    assert_non_null(strstr(text, "request_total{client=\"user\",server=\"shop\","
                                 "connection_type=\"virtual_node\"} 1\n"));
    /* the caller's time is all there is of a database; of a user there is none */
    assert_non_null(strstr(text, "request_server_seconds_sum{client=\"cart\",server=\"orders\","
                                 "connection_type=\"database\"} 0.1\n"));
    assert_null(strstr(text, "request_client_seconds_sum{client=\"user\""));
    assert_null(strstr(text, "server=\"mail\"")); /* it may still send spans */
    assert_non_null(strstr(render(g, false, NOW_NS + 11 * S),
                           "request_total{client=\"cart\",server=\"mail\","
                           "connection_type=\"virtual_node\"} 1\n"));
    done(g);
}

TEST(service_graph, gives_up_on_a_span_whose_other_half_never_comes)
{
    struct sf_service_graph *g = sf_service_graph_new(NULL);
    add(g, span(SHOP, SF_KIND_CLIENT, 1, 9, 1), NOW_NS);
    add(g, span(CART, SF_KIND_SERVER, 2, 77, 1), NOW_NS);
    add(g, span(CART, SF_KIND_SERVER, 3, 1, 1), NOW_NS + 10 * S); /* a moment too late */
    char *text = render(g, false, NOW_NS + 10 * S);
    assert_null(strstr(text, "request_total{"));
    assert_non_null(strstr(text, "unpaired_spans_total{client=\"shop\",server=\"\","
                                 "connection_type=\"\"} 1\n"));
    assert_non_null(strstr(text, "unpaired_spans_total{client=\"\",server=\"cart\","
                                 "connection_type=\"\"} 1\n"));
    assert_non_null(
        strstr(text, "tempo_metrics_generator_processor_service_graphs_expired_edges 2\n"));
    assert_non_null(strstr(text, "spanflame_service_graph_waiting 1\n"));
    done(g);
}

TEST(service_graph, ignores_what_is_no_side_of_a_request)
{
    struct sf_service_graph *g = sf_service_graph_new(NULL);
    struct sf_span late = span(SHOP, SF_KIND_CLIENT, 8, 9, 1);
    late.end_ns -= 31 * (uint64_t)S;
    struct sf_span spans[] = {span(SHOP, SF_KIND_INTERNAL, 1, 9, 1),
                              span(SHOP, SF_KIND_UNSPECIFIED, 2, 9, 1), span(SHOP, 200, 3, 9, 1),
                              span(NAMELESS, SF_KIND_SERVER, 4, 0, 1), late};
    add_to(g, SF_STR_NONE, spans, 5, NOW_NS);
    char *text = render(g, false, NOW_NS);
    assert_non_null(strstr(text, "spanflame_service_graph_waiting 0\n"));
    assert_non_null(strstr(text, "spanflame_service_graph_series 0\n"));
    assert_non_null(strstr(text, "{reason=\"outside_metrics_ingestion_slack\"} 1\n"));
    done(g);
}

TEST(service_graph, shows_the_last_trace_of_a_bucket_as_exemplar)
{
    struct sf_service_graph *g = sf_service_graph_new(NULL);
    add(g, span(SHOP, SF_KIND_CLIENT, 1, 9, 300), NOW_NS);
    add(g, span(CART, SF_KIND_SERVER, 2, 1, 150), NOW_NS);
    const char *exemplar = "# {traceID=\"00000000000000000000000000000007\"} 0.15 1700000000.000";
    assert_non_null(strstr(render(g, true, NOW_NS), exemplar));
    assert_null(strstr(render(g, false, NOW_NS), exemplar));
    done(g);
}

TEST(service_graph, lets_the_oldest_go_when_too_many_wait)
{
    struct sf_service_graph_config config = {.max_waiting = 20};
    struct sf_service_graph *g = sf_service_graph_new(&config);
    struct sf_span spans[100];
    for (uint32_t i = 0; i < 100; i++)
        spans[i] = span(SHOP, SF_KIND_CLIENT, i + 1, 0, 1);
    add_to(g, SF_STR_NONE, spans, 100, NOW_NS);
    char *text = render(g, false, NOW_NS);
    assert_non_null(strstr(text, "spanflame_service_graph_waiting 20\n"));
    assert_non_null(strstr(text, "traces_service_graph_dropped_spans_total 80\n"));
    add(g, span(CART, SF_KIND_SERVER, 500, 100, 1), NOW_NS); /* its caller came last */
    assert_non_null(strstr(render(g, false, NOW_NS), "request_total{" EDGE "} 1\n"));
    add(g, span(SHOP, SF_KIND_CLIENT, 200, 0, 1), NOW_NS + 20 * S); /* time made room */
    assert_non_null(
        strstr(render(g, false, NOW_NS + 20 * S), "spanflame_service_graph_waiting 1\n"));
    done(g);
}

TEST(service_graph, stays_below_the_cap_whatever_peers_are_named)
{
    struct sf_service_graph_config config = {.max_series = 10};
    struct sf_service_graph *g = sf_service_graph_new(&config);
    for (uint32_t i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof(name), "db%u", i);
        struct sf_attr attr = text_attr("db.name", name);
        struct sf_span s = span(SHOP, SF_KIND_CLIENT, i + 1, 0, 1);
        s.attrs = (struct sf_attrs){&attr, 1};
        add(g, s, NOW_NS);
    }
    char *text = render(g, false, NOW_NS);
    assert_non_null(strstr(text, "spanflame_service_graph_series 10\n"));
    assert_non_null(strstr(text, "{reason=\"too_many_series\"} 90\n"));
    done(g);
}

TEST(service_graph, has_room_for_so_many_edges_and_no_more)
{
    struct sf_service_graph *g = sf_service_graph_new(NULL);
    for (uint32_t i = 0; i <= SF_LIMIT_METER_EDGES; i++) {
        char name[16];
        snprintf(name, sizeof(name), "db%u", i);
        struct sf_attr attr = text_attr("db.name", name);
        struct sf_span s = span(SHOP, SF_KIND_CLIENT, i + 1, 0, 1);
        s.attrs = (struct sf_attrs){&attr, 1};
        if (i == SF_LIMIT_METER_EDGES)
            assert_non_null(strstr(render(g, false, NOW_NS), "{reason=\"too_many_series\"} 0\n"));
        add(g, s, NOW_NS);
    }
    assert_non_null(strstr(render(g, false, NOW_NS), "{reason=\"too_many_series\"} 1\n"));
    done(g);
}

TEST(service_graph, lets_so_many_wait_and_no_more)
{
    struct sf_service_graph *g = sf_service_graph_new(NULL);
    for (uint32_t i = 0; i <= SF_LIMIT_METER_WAITING; i++) {
        if (i == SF_LIMIT_METER_WAITING)
            assert_non_null(
                strstr(render(g, false, NOW_NS), "traces_service_graph_dropped_spans_total 0\n"));
        add(g, span(SHOP, SF_KIND_CLIENT, i + 1, 0, 1), NOW_NS);
    }
    assert_non_null(
        strstr(render(g, false, NOW_NS), "traces_service_graph_dropped_spans_total 1\n"));
    done(g);
}

TEST(service_graph, bounds_what_one_request_may_add)
{
    struct sf_service_graph *g = sf_service_graph_new(NULL);
    enum { N = SF_LIMIT_METER_HALVES + 500 };
    struct sf_span *spans = sf_heap_new_n(N, sizeof(*spans));
    for (uint32_t i = 0; i < N; i++)
        spans[i] = span(SHOP, SF_KIND_SERVER, i + 1, 0, 1);
    add_to(g, SF_STR_NONE, spans, N, NOW_NS);
    assert_non_null(strstr(render(g, false, NOW_NS), "{reason=\"too_many_in_request\"} 500\n"));
    sf_heap_free(spans);
    done(g);
}

TEST(service_graph, bounds_the_text_that_waits)
{
    enum { N = 20000 };
    struct sf_service_graph_config config = {.max_waiting = 2 * N};
    struct sf_service_graph *g = sf_service_graph_new(&config);
    char name[2001];
    memset(name, 'x', 2000); /* 256 of them are kept */
    name[2000] = '\0';
    struct sf_attr attr = text_attr("peer.service", name);
    static struct sf_span spans[N];
    for (uint32_t i = 0; i < N; i++) {
        spans[i] = span(SHOP, SF_KIND_CLIENT, i + 1, 0, 1);
        spans[i].attrs = (struct sf_attrs){&attr, 1};
    }
    add_to(g, SF_STR_NONE, spans, N, NOW_NS);
    /* 4 MiB are 16,008 times 262 bytes. */
    assert_non_null(strstr(render(g, false, NOW_NS), "{reason=\"too_many_waiting\"} 3992\n"));
    assert_true(sf_service_graph_memory_len(g) < 12 << 20);
    done(g);
}

TEST(service_graph, drops_edges_without_requests_for_15_minutes)
{
    struct sf_service_graph *g = sf_service_graph_new(NULL);
    struct sf_span fresh = span(CART, SF_KIND_SERVER, 3, 0, 1);
    int64_t later_ns = NOW_NS + 16 * 60 * S;
    add(g, span(SHOP, SF_KIND_SERVER, 3, 0, 1), NOW_NS);
    fresh.start_ns = fresh.end_ns = (uint64_t)later_ns;
    add(g, fresh, later_ns);
    add(g, fresh, later_ns);
    char *text = render(g, false, later_ns);
    assert_null(strstr(text, "server=\"shop\""));
    assert_non_null(strstr(text, "request_total{client=\"user\",server=\"cart\","
                                 "connection_type=\"virtual_node\"} 2\n"));
    assert_non_null(strstr(text, "spanflame_service_graph_stale_series_total 1\n"));
    done(g);
}

TEST(service_graph, makes_attributes_of_either_side_labels)
{
    static const char *const dims[] = {"service.namespace", "missing"};
    struct sf_service_graph_config config = {.dimensions = dims, .n_dimensions = 2};
    struct sf_service_graph *g = sf_service_graph_new(&config);
    add(g, span(SHOP, SF_KIND_CLIENT, 1, 9, 300), NOW_NS);
    add(g, span(CART, SF_KIND_SERVER, 2, 1, 150), NOW_NS);
    assert_non_null(strstr(render(g, false, NOW_NS),
                           "request_total{" EDGE ",client_service_namespace=\"front\","
                           "server_service_namespace=\"\",client_missing=\"\","
                           "server_missing=\"\"} 1\n"));
    done(g);
}

TEST(service_graph, lets_one_caller_meet_only_one_of_many_callees)
{
    struct sf_service_graph *g = sf_service_graph_new(NULL);
    struct sf_span spans[3000];
    for (uint32_t i = 0; i < 3000; i++)
        spans[i] = span(CART, SF_KIND_SERVER, i + 100, 1, 1);
    add_to(g, SF_STR_NONE, spans, 3000, NOW_NS);
    add(g, span(SHOP, SF_KIND_CLIENT, 1, 9, 300), NOW_NS);
    char *text = render(g, false, NOW_NS);
    assert_non_null(strstr(text, "request_total{" EDGE "} 1\n"));
    assert_non_null(strstr(text, "spanflame_service_graph_waiting 2999\n"));
    done(g);
}

TEST(service_graph, loses_nothing_but_the_count_when_memory_runs_out)
{
    for (uint64_t nth = 1; nth < 30; nth++) {
        sf_heap_fail_after(nth);
        struct sf_service_graph *g = sf_service_graph_new(NULL);
        struct sf_arena req = {0};
        struct sf_graph_tally tally = {0};
        struct sf_span spans[] = {span(CART, SF_KIND_SERVER, 2, 1, 250),
                                  span(SHOP, SF_KIND_CLIENT, 1, 9, 300),
                                  span(SHOP, SF_KIND_CLIENT, 4, 9, 300)};
        struct sf_span_batch batch = {
            .resources = resources, .n_resources = N_RESOURCES, .spans = spans, .n_spans = 3};
        if (g && sf_arena_init(&req, 1 << 20) &&
            sf_service_graph_tally(g, &batch, NOW_NS, &req, &tally))
            sf_service_graph_add(g, SF_STR_NONE, &tally, NOW_NS);
        if (g) {
            struct sf_exposition e = {.out = &out};
            sf_service_graph_render(g, NOW_NS, &e);
        }
        sf_heap_fail_after(0);
        sf_arena_done(&req);
        done(g);
    }
}
