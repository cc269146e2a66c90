#include "serve/status_pages.h"

#include "serve/route_table.h"

#define TEXT "text/plain; charset=utf-8"

static void add_version(struct sf_call *call)
{
    sf_buf_print(&call->response->body, "spanflame %s\n", call->service->version);
}

/* ---- parts of the server ---- */

static void add_part(struct sf_buf *out, const char *name, const char *state, const char *detail)
{
    sf_buf_print(out, "%-10s %-10s%s%s\n", name, state, *detail ? " " : "", detail);
}

static void add_queue(struct sf_buf *out, const char *name, struct sf_queue *queue)
{
    struct sf_buf detail = {0};
    sf_buf_print(&detail, "%zu waiting", sf_queue_depth(queue));
    sf_buf_add_u8(&detail, 0);
    add_part(out, name, "Running", sf_buf_ok(&detail) ? (char *)detail.p : "");
    sf_buf_done(&detail);
}

static void add_store(struct sf_buf *out, struct sf_store *store)
{
    struct sf_store_stats stats = {0};
    struct sf_why why = {0};
    if (store->ops->stats(store, &stats, &why))
        add_part(out, "store", "Failed", why.text);
    else if (stats.pressure == SF_PRESSURE_REFUSE)
        add_part(out, "store", "Refusing", stats.reason);
    else if (stats.is_degraded)
        add_part(out, "store", "Degraded", stats.reason);
    else
        add_part(out, "store", "Running", stats.pressure ? "behind: senders are slowed" : "");
}

static void add_services(struct sf_call *call)
{
    struct sf_service *s = call->service;
    struct sf_store *store = atomic_load(&s->store);
    struct sf_buf *out = &call->response->body;
    char room[200];
    const char *unready = sf_service_unready(s, room);
    bool is_stopping = atomic_load(&s->state) == SF_SERVICE_STOPPING;
    add_part(out, "listener", is_stopping ? "Stopping" : "Running", "");
    add_queue(out, "ingest", s->ingest);
    add_queue(out, "query", s->query);
    if (store && !unready)
        add_store(out, store);
    else
        add_part(out, "store", is_stopping ? "Stopping" : "Starting", unready ? unready : "");
}

/* ---- routes ---- */

static void add_endpoints(struct sf_call *call)
{
    static const char *const methods[] = {
        [SF_METHOD_GET] = "GET", [SF_METHOD_POST] = "POST", [SF_METHOD_DELETE] = "DELETE"};
    for (size_t i = 0; i < sf_n_routes; i++) {
        const struct sf_route *r = &sf_routes[i];
        const char *scope = r->scope == SF_MAY_READ    ? "read"
                            : r->scope == SF_MAY_WRITE ? "write"
                            : r->scope == SF_MAY_ADMIN ? "admin"
                                                       : "-";
        sf_buf_print(&call->response->body, "%-7s %-6s %s\n",
                     r->is_grpc ? "gRPC" : methods[r->method], scope, r->path);
    }
}

/* ---- pages ---- */

static bool end_page(struct sf_call *call)
{
    if (call->response->body.err)
        return sf_call_fail(call, call->response->body.err, NULL);
    return true;
}

bool sf_status_pages_version(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    sf_call_ok(call, TEXT);
    add_version(call);
    return end_page(call);
}

bool sf_status_pages_services(struct sf_call *call,
                              __attribute__((unused)) struct sf_worker *worker)
{
    sf_call_ok(call, TEXT);
    add_services(call);
    return end_page(call);
}

bool sf_status_pages_endpoints(struct sf_call *call,
                               __attribute__((unused)) struct sf_worker *worker)
{
    sf_call_ok(call, TEXT);
    add_endpoints(call);
    return end_page(call);
}

static void add_line(struct sf_call *call, sf_str line)
{
    sf_buf_add_str(&call->response->body, line);
    sf_buf_add_u8(&call->response->body, '\n');
}

bool sf_status_pages_config(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    sf_str rest = call->service->config_text, line;
    struct sf_buf mode = {0};
    bool is_diff = sf_request_param(call->request, SF_STR("mode"), &mode) &&
                   sf_str_eq(sf_buf_str(&mode), SF_STR("diff"));
    sf_buf_done(&mode);
    sf_call_ok(call, TEXT);
    while (sf_str_split_next(&rest, '\n', &line)) {
        if (line.len && !(is_diff && sf_str_ends(line, SF_STR("# default"))))
            add_line(call, line);
    }
    return end_page(call);
}

/* Limits are the server's, not a tenant's: whoever asks for one sees those. */
bool sf_status_pages_overrides(struct sf_call *call,
                               __attribute__((unused)) struct sf_worker *worker)
{
    sf_str rest = call->service->config_text, line;
    sf_call_ok(call, TEXT);
    add_line(call, SF_STR("# the same for every tenant"));
    while (sf_str_split_next(&rest, '\n', &line)) {
        if (sf_str_starts(line, SF_STR("limits.")))
            add_line(call, line);
    }
    return end_page(call);
}

bool sf_status_pages_usage(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    sf_call_ok(call, TEXT);
    add_line(call, SF_STR("no usage reports are sent"));
    return end_page(call);
}

/* All but the configuration, which is for administrators. */
bool sf_status_pages_all(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    sf_call_ok(call, TEXT);
    add_version(call);
    sf_buf_add_u8(&call->response->body, '\n');
    add_services(call);
    sf_buf_add_u8(&call->response->body, '\n');
    add_endpoints(call);
    return end_page(call);
}
