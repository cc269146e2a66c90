#include "serve/tempo/status_pages.h"

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

static void add_queue(struct sf_buf *out, const char *name, size_t depth)
{
    struct sf_buf detail = {0};
    sf_buf_print(&detail, "%zu waiting", depth);
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
    add_queue(out, "ingest", sf_queue_depth(s->ingest));
    add_queue(out, "point", sf_lane_depth(s->point));
    add_queue(out, "query", sf_lane_depth(s->query));
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

enum mode { MODE_ALL, MODE_DIFF, MODE_DEFAULTS, MODE_UNKNOWN };

static enum mode mode_of(struct sf_call *call)
{
    static const sf_str words[] = {
        [MODE_ALL] = SF_STR_NONE, [MODE_DIFF] = {"diff", 4}, [MODE_DEFAULTS] = {"defaults", 8}};
    struct sf_buf text = {.max = SF_LIMIT_PARAM_LEN};
    enum mode mode = MODE_ALL;
    (void)sf_request_param(call->request, SF_STR("mode"), &text);
    while (mode < MODE_UNKNOWN && !sf_str_eq(sf_buf_str(&text), words[mode]))
        mode++;
    if (text.err)
        mode = MODE_UNKNOWN;
    sf_buf_done(&text);
    return mode;
}

/* The lines of the configuration that begin with `only`. */
static bool add_config(struct sf_call *call, sf_str only, enum mode mode)
{
    sf_str rest = mode == MODE_DEFAULTS ? call->service->defaults_text : call->service->config_text;
    sf_str line;
    while (sf_str_split_next(&rest, '\n', &line)) {
        if (line.len && sf_str_starts(line, only) &&
            !(mode == MODE_DIFF && sf_str_ends(line, SF_STR("# default"))))
            add_line(call, line);
    }
    return end_page(call);
}

static bool refuse_mode(struct sf_call *call, const char *modes)
{
    struct sf_why why;
    return sf_call_fail(call, sf_fail(&why, SF_ERR_INPUT, "mode must be %s", modes), &why);
}

bool sf_status_pages_config(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    enum mode mode = mode_of(call);
    if (mode == MODE_UNKNOWN)
        return refuse_mode(call, "diff or defaults");
    sf_call_ok(call, TEXT);
    return add_config(call, SF_STR_NONE, mode);
}

/* Limits are the server's, not a tenant's: whoever asks for one sees those. */
bool sf_status_pages_overrides(struct sf_call *call,
                               __attribute__((unused)) struct sf_worker *worker)
{
    enum mode mode = mode_of(call);
    if (mode > MODE_DIFF)
        return refuse_mode(call, "diff");
    sf_call_ok(call, TEXT);
    add_line(call, SF_STR("# the same for every tenant"));
    return add_config(call, SF_STR("limits."), mode);
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
