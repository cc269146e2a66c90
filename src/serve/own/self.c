#include "serve/own/self.h"

#include <string.h>

#include "listen/listener.h"
#include "os/clock.h"
#include "os/memory.h"
#include "serve/alerts/alerts.h"
#include "serve/auth.h"
#include "serve/pyroscope/recording_rules.h"
#include "serve/scrape/scraping.h"
#include "wire/json_write.h"

#define TEXT "text/plain; charset=utf-8"

static bool not_ready(struct sf_call *call, const char *reason)
{
    /* Answered without counting a refusal: probes ask all the time. */
    sf_status_answer(call->response, SF_FORM_TEXT, sf_status_unavailable, reason);
    call->response->retry_after_s = 0;
    return true;
}

bool sf_self_ready(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    struct sf_service *s = call->service;
    struct sf_store *store = atomic_load(&s->store);
    struct sf_store_state state = {0};
    struct sf_why why;
    char room[200];
    const char *unready = sf_service_unready(s, room);
    if (unready || !store)
        return not_ready(call, unready ? unready : "starting");
    if (store->ops->state(store, &state, &why))
        return not_ready(call, why.text);
    if (state.pressure == SF_PRESSURE_REFUSE)
        return not_ready(call, state.reason[0] ? state.reason : "writes are refused");
    sf_call_ok(call, TEXT);
    sf_buf_add_str(&call->response->body, SF_STR("ready\n"));
    if (state.is_degraded)
        sf_buf_print(&call->response->body, "degraded: %s\n", state.reason);
    return true;
}

bool sf_self_echo(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    sf_call_ok(call, TEXT);
    sf_buf_add_str(&call->response->body, SF_STR("echo\n"));
    return true;
}

/* Grafana switches features by the version it finds here, and reads it as Tempo's: so this is the
 * newest Tempo version whose API this server supports, not our own version. */
bool sf_self_buildinfo(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    struct sf_json_writer w = sf_json_writer_init(&call->response->body);
    sf_call_ok(call, "application/json");
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("version"), SF_STR("2.10.0"));
    sf_json_write_key_str(&w, SF_STR("revision"), sf_str_from(call->service->version));
    sf_json_write_key_str(&w, SF_STR("branch"), SF_STR("spanflame"));
    sf_json_write_key_str(&w, SF_STR("buildUser"), SF_STR(""));
    sf_json_write_key_str(&w, SF_STR("buildDate"), SF_STR(""));
    sf_json_write_key_str(&w, SF_STR("goVersion"), SF_STR(""));
    sf_json_write_object_end(&w);
    return true;
}

/* ---- metrics ---- */

static void self_one(struct sf_exposition *e, const char *name, enum sf_metric_type type,
                     const char *help, uint64_t val)
{
    sf_exposition_family(e, name, type, help);
    sf_exposition_u64(e, NULL, 0, val);
}

static void labelled(struct sf_exposition *e, const char *label, const char *val, uint64_t n)
{
    struct sf_metric_label l = {label, sf_str_from(val)};
    sf_exposition_u64(e, &l, 1, n);
}

static void queues(struct sf_service *s, const struct sf_store_state *state,
                   struct sf_exposition *e)
{
    sf_exposition_family(e, "spanflame_queue_depth", SF_METRIC_GAUGE,
                         "Requests or batches waiting, by queue.");
    labelled(e, "queue", "ingest", sf_queue_depth(s->ingest));
    labelled(e, "queue", "large", sf_large_turn_parked(s));
    labelled(e, "queue", "point", sf_lane_depth(s->point));
    labelled(e, "queue", "query", sf_lane_depth(s->query));
    labelled(e, "queue", "control", sf_queue_depth(s->control));
    labelled(e, "queue", "log", state->queue_depth);
    self_one(
        e, "spanflame_shed_level", SF_METRIC_GAUGE,
        "What is refused under load: 1 baseline detail, 2 all detail, 3 profiles, 4 half of the "
        "spans, 5 everything; 0 nothing.",
        (uint64_t)sf_service_pressure(s));
}

static void listener(struct sf_service *s, struct sf_exposition *e)
{
    struct sf_listen_stats l = {0};
    if (s->listener)
        sf_listener_stats(s->listener, &l);
    self_one(e, "spanflame_connections", SF_METRIC_GAUGE, "Connections open now.", l.n_connections);
    self_one(e, "spanflame_connections_accepted", SF_METRIC_COUNTER, "Connections accepted.",
             l.n_accepted);
    self_one(e, "spanflame_connections_refused", SF_METRIC_COUNTER,
             "Connections closed at once because there were too many.", l.n_refused);
    sf_exposition_family(e, "spanflame_protocol_requests", SF_METRIC_COUNTER,
                         "Requests received completely, by protocol.");
    labelled(e, "protocol", "http1", l.n_requests_h1);
    labelled(e, "protocol", "http2", l.n_requests_h2);
    labelled(e, "protocol", "grpc", l.n_requests_grpc);
    sf_exposition_family(e, "spanflame_protocol_faults", SF_METRIC_COUNTER,
                         "Requests and connections ended early, by cause.");
    labelled(e, "cause", "timeout", l.n_timeouts);
    labelled(e, "cause", "flood", l.n_floods);
    labelled(e, "cause", "framing", l.n_bad_framing);
    labelled(e, "cause", "tls", l.n_tls_failures);
    self_one(e, "spanflame_bodies_spooled", SF_METRIC_COUNTER,
             "Request bodies that went through a spool file.", l.n_spooled);
    sf_exposition_family(e, "spanflame_memory_bytes", SF_METRIC_GAUGE,
                         "Memory held, by line of the budget.");
    labelled(e, "line", "bodies", l.bodies_len);
}

static void memory(struct sf_service *s, const struct sf_store_state *state,
                   struct sf_exposition *e)
{
    labelled(e, "line", "store", state->memory_len);
    labelled(e, "line", "memtables", state->rows_len);
    if (s->span_metrics)
        labelled(e, "line", "span_metrics", sf_span_metrics_memory_len(s->span_metrics));
    if (s->service_graph)
        labelled(e, "line", "service_graph", sf_service_graph_memory_len(s->service_graph));
    self_one(e, "spanflame_memory_budget_bytes", SF_METRIC_GAUGE, "The server's memory budget.",
             s->memory_len);
    self_one(e, "spanflame_store_memory_budget_bytes", SF_METRIC_GAUGE,
             "The store's part of the memory budget.", state->memory_cap);
    self_one(e, "process_resident_memory_bytes", SF_METRIC_GAUGE, "Resident memory of the process.",
             sf_memory_resident_len());
    sf_exposition_family(e, "process_cpu_seconds", SF_METRIC_COUNTER,
                         "CPU time of the process in seconds.");
    sf_exposition_f64(e, NULL, 0, (double)sf_clock_cpu_ns() / 1e9);
}

/* ---- counters of the store ---- */

struct figures {
    struct sf_exposition *e;
    const char *family;
};

static void add_figure(void *arg, const struct sf_store_figure *figure)
{
    struct figures *f = arg;
    struct sf_metric_label label = {figure->label, sf_str_from(figure->label_val)};
    if (!f->family || strcmp(f->family, figure->name) != 0)
        sf_exposition_family(f->e, figure->name,
                             figure->bounds       ? SF_METRIC_HISTOGRAM
                             : figure->is_counter ? SF_METRIC_COUNTER
                                                  : SF_METRIC_GAUGE,
                             figure->help);
    f->family = figure->name;
    if (figure->bounds)
        sf_exposition_histogram(f->e, NULL, 0, figure->bounds, figure->n_bounds, figure->buckets,
                                figure->sum_s, NULL);
    else
        sf_exposition_u64(f->e, figure->label ? &label : NULL, figure->label ? 1 : 0, figure->val);
}

static void symbols(const struct sf_service *s, struct sf_exposition *e)
{
    struct sf_symbolizer_stats st = {0};
    if (!s->symbols)
        return;
    sf_symbolizer_stats(s->symbols, &st);
    self_one(e, "spanflame_symbol_lookups", SF_METRIC_COUNTER,
             "Addresses looked up in debug files.", st.n_looked_up);
    self_one(e, "spanflame_symbol_names", SF_METRIC_COUNTER, "Addresses that got a name there.",
             st.n_named);
    sf_exposition_family(e, "spanflame_symbol_fetches", SF_METRIC_COUNTER,
                         "Requests to debuginfod servers, by result.");
    labelled(e, "result", "file", st.n_fetched);
    labelled(e, "result", "absent", st.n_absent);
    labelled(e, "result", "failed", st.n_failed);
    self_one(e, "spanflame_symbol_memory_bytes", SF_METRIC_GAUGE, "Memory used by names of code.",
             st.names_len);
}

bool sf_self_metrics(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    struct sf_service *s = call->service;
    struct sf_store *store = atomic_load(&s->store);
    struct sf_store_state state = {0};
    struct sf_grant grant = {0};
    (void)sf_auth_grant(s, call->request, &grant, NULL); /* already admitted; this finds the tenants
                                                          * to show */
    struct sf_exposition e = {.tenants = sf_buf_str(&grant.tenants),
                              .out = &call->response->body,
                              .is_open_metrics = sf_exposition_wants_open_metrics(
                                  sf_request_header(call->request, SF_STR("accept")))};
    if (store)
        (void)store->ops->state(store, &state, NULL); /* shows zeros on failure: a scrape must not
                                                       * fail */
    sf_call_ok(call, e.is_open_metrics ? sf_exposition_type_open : sf_exposition_type_plain);
    sf_exposition_family(&e, "spanflame_build_info", SF_METRIC_GAUGE, "The version running.");
    labelled(&e, "version", s->version, 1);
    self_one(&e, "spanflame_ready", SF_METRIC_GAUGE, "1 when requests are served.",
             atomic_load(&s->state) == SF_SERVICE_READY && state.pressure != SF_PRESSURE_REFUSE);
    sf_counters_render(s->counters, &e);
    queues(s, &state, &e);
    listener(s, &e);
    memory(s, &state, &e);
    if (store)
        store->ops->figures(store, add_figure, &(struct figures){.e = &e});
    symbols(s, &e);
    if (s->has_span_metrics)
        sf_span_metrics_render(s->span_metrics, sf_clock_wall_ns(), &e);
    if (s->service_graph)
        sf_service_graph_render(s->service_graph, sf_clock_wall_ns(), &e);
    if (s->target_info)
        sf_target_info_render(s->target_info, sf_clock_wall_ns(), &e);
    sf_recording_run_render(s->rules, s->has_tenancy, &e);
    sf_alerts_render(s->alerts, &e);
    sf_scraping_render(s->scraping, &e);
    sf_exposition_end(&e);
    sf_buf_done(&grant.tenants);
    if (call->response->body.err)
        return sf_call_fail(call, call->response->body.err, NULL);
    return true;
}
