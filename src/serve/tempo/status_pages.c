/* status_pages.c - Tempo's /status pages as plain text. Each page is a function that appends lines
 * to the response; /status itself appends all of them except the configuration, which only
 * administrators may read. */
#include "serve/tempo/status_pages.h"

#include <inttypes.h>

#include "base/time_unit.h"
#include "exec/tenant.h"
#include "intake/quota.h"
#include "serve/route_table.h"

#define TEXT "text/plain; charset=utf-8"

static void add_version(struct sf_call *call)
{
    sf_buf_print(&call->response->body, "spanflame %s\n", call->service->version);
}

/* ---- parts of the server ---- */

static void status_pages_add_part(struct sf_buf *out, const char *name, const char *state,
                                  const char *detail)
{
    sf_buf_print(out, "%-10s %-10s%s%s\n", name, state, *detail ? " " : "", detail);
}

static void add_queue(struct sf_buf *out, const char *name, size_t depth)
{
    struct sf_buf detail = {0};
    sf_buf_print(&detail, "%zu waiting", depth);
    sf_buf_add_u8(&detail, 0);
    status_pages_add_part(out, name, "Running", sf_buf_ok(&detail) ? (char *)detail.p : "");
    sf_buf_done(&detail);
}

static void add_store(struct sf_buf *out, struct sf_store *store)
{
    struct sf_store_state state = {0};
    struct sf_why why = {0};
    if (store->ops->state(store, &state, &why))
        status_pages_add_part(out, "store", "Failed", why.text);
    else if (state.pressure == SF_PRESSURE_REFUSE)
        status_pages_add_part(out, "store", "Refusing", state.reason);
    else if (state.is_degraded)
        status_pages_add_part(out, "store", "Degraded", state.reason);
    else
        status_pages_add_part(out, "store", "Running",
                              state.pressure ? "behind: senders are slowed" : "");
}

static void status_pages_add_services(struct sf_call *call)
{
    struct sf_service *s = call->service;
    struct sf_store *store = atomic_load(&s->store);
    struct sf_buf *out = &call->response->body;
    char room[200];
    const char *unready = sf_service_unready(s, room);
    bool is_stopping = atomic_load(&s->state) == SF_SERVICE_STOPPING;
    status_pages_add_part(out, "listener", is_stopping ? "Stopping" : "Running", "");
    add_queue(out, "ingest", sf_queue_depth(s->ingest));
    add_queue(out, "point", sf_lane_depth(s->point));
    add_queue(out, "query", sf_lane_depth(s->query));
    if (store && !unready)
        add_store(out, store);
    else
        status_pages_add_part(out, "store", is_stopping ? "Stopping" : "Starting",
                              unready ? unready : "");
}

/* ---- routes ---- */

static void add_endpoints(struct sf_call *call)
{
    static const char *const methods[] = {[SF_METHOD_GET] = "GET",
                                          [SF_METHOD_POST] = "POST",
                                          [SF_METHOD_PUT] = "PUT",
                                          [SF_METHOD_DELETE] = "DELETE"};
    for (size_t i = 0; i < sf_n_routes; i++) {
        const struct sf_route *r = &sf_routes[i];
        const char *scope = r->scope == SF_MAY_READ      ? "read"
                            : r->scope == SF_MAY_WRITE   ? "write"
                            : r->scope == SF_MAY_ADMIN   ? "admin"
                            : r->scope == SF_MAY_CONTROL ? "control"
                                                         : "-";
        sf_buf_print(&call->response->body, "%-7s %-7s %s\n",
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
    status_pages_add_services(call);
    return end_page(call);
}

bool sf_status_pages_endpoints(struct sf_call *call,
                               __attribute__((unused)) struct sf_worker *worker)
{
    sf_call_ok(call, TEXT);
    add_endpoints(call);
    return end_page(call);
}

static void status_pages_add_line(struct sf_call *call, sf_str line)
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

/* Writes the lines of the configuration that begin with `only`. */
static bool add_config(struct sf_call *call, sf_str only, enum mode mode)
{
    sf_str rest = mode == MODE_DEFAULTS ? call->service->defaults_text : call->service->config_text;
    sf_str line;
    while (sf_str_split_next(&rest, '\n', &line)) {
        if (line.len && sf_str_starts(line, only) &&
            !(mode == MODE_DIFF && sf_str_ends(line, SF_STR("# default"))))
            status_pages_add_line(call, line);
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

/* ---- limits of tenants ---- */

struct overrides { /* what to show, and for which tenant */
    struct sf_buf *out;
    sf_str tenant;
    enum mode mode;
};

static void status_pages_add_value(struct sf_buf *out, const char *before, const char *name,
                                   enum sf_quota_key key, uint64_t value)
{
    if (sf_quota_key_infos[key].kind == SF_SETTING_DURATION && value)
        sf_buf_print(out, "%s%s: %" PRIu64 "s\n", before, name, value / SF_NS_PER_S);
    else
        sf_buf_print(out, "%s%s: %" PRIu64 "%s\n", before, name, value, value ? "" : " # no limit");
}

/* Writes the limits of a tenant or a service, under our names. */
static void add_limits(const struct overrides *o, const struct sf_quota_rules *rules,
                       sf_str service, const char *before)
{
    for (unsigned k = 0; k < (service.len ? SF_QUOTA_SERVICE_KEYS : SF_QUOTA_KEYS); k++) {
        uint64_t value = 0;
        bool is_set = sf_quota_rules_get(rules, o->tenant, service, (enum sf_quota_key)k, &value);
        bool is_own = k == SF_QUOTA_RETAIN_SPANS || k == SF_QUOTA_RETAIN_PROFILES;
        if (is_set || (o->mode == MODE_ALL && !is_own && !service.len))
            status_pages_add_value(o->out, before, sf_quota_key_infos[k].name, (enum sf_quota_key)k,
                                   value);
        else if (o->mode == MODE_ALL && is_own && !service.len)
            sf_buf_print(o->out, "# %s: as retention.%s of the server\n",
                         sf_quota_key_infos[k].name,
                         k == SF_QUOTA_RETAIN_SPANS ? "spans" : "profiles");
    }
}

static void add_services_of(const struct overrides *o, const struct sf_quota_rules *rules,
                            sf_str tenant, bool *has_head)
{
    sf_str service;
    for (size_t i = 0; sf_quota_rules_service(rules, tenant, i, &service); i++) {
        if (!*has_head)
            sf_buf_print(o->out, "services:\n");
        *has_head = true;
        sf_buf_print(o->out, "  \"%.*s\":\n", SF_STR_ARG(service));
        add_limits(o, rules, service, "    ");
    }
}

/* Writes the same limits under Tempo's and Pyroscope's names. */
static void add_other_names(const struct overrides *o, const struct sf_quota_rules *rules)
{
    static const struct {
        enum sf_quota_key key;
        const char *section, *name;
    } names[] = {
        {SF_QUOTA_BYTES_RATE, "ingestion", "rate_limit_bytes"},
        {SF_QUOTA_BYTES_BURST, "ingestion", "burst_size_bytes"},
        {SF_QUOTA_RETAIN_SPANS, "compaction", "block_retention"},
        {SF_QUOTA_BYTES_RATE, NULL, "ingestion_rate_mb"},
        {SF_QUOTA_BYTES_BURST, NULL, "ingestion_burst_size_mb"},
        {SF_QUOTA_SERIES, NULL, "max_global_series_per_tenant"},
        {SF_QUOTA_RETAIN_PROFILES, NULL, "compactor_blocks_retention_period"},
    };
    const char *section = "";
    bool has_head = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        uint64_t value;
        if (!sf_quota_rules_get(rules, o->tenant, SF_STR_NONE, names[i].key, &value))
            continue;
        if (!has_head)
            sf_buf_print(o->out, "# the same under the names of Tempo and Pyroscope\n");
        has_head = true;
        if (names[i].section && names[i].section != section)
            sf_buf_print(o->out, "%s:\n", names[i].section);
        section = names[i].section ? names[i].section : "";
        if (!names[i].section && sf_quota_key_infos[names[i].key].kind == SF_SETTING_SIZE)
            sf_buf_print(o->out, "%s: %.6g\n", names[i].name, (double)value / (1 << 20));
        else
            status_pages_add_value(o->out, names[i].section ? "  " : "", names[i].name,
                                   names[i].key, value);
    }
}

static void show_tenant(void *arg, const struct sf_quota_rules *rules)
{
    struct overrides *o = arg;
    bool has_head = false;
    sf_buf_print(o->out, "# tenant %.*s%s\n", SF_STR_ARG(o->tenant),
                 sf_quota_rules_names(rules, o->tenant) ? "" : " (not named in the file)");
    add_limits(o, rules, SF_STR_NONE, "");
    add_services_of(o, rules, o->tenant, &has_head);
    if (!sf_str_eq(o->tenant, SF_STR("*")))
        add_services_of(o, rules, SF_STR("*"), &has_head);
    add_other_names(o, rules);
}

static void show_tenants(void *arg, const struct sf_quota_rules *rules)
{
    struct overrides *o = arg;
    sf_str tenant, last = SF_STR_NONE;
    for (size_t i = 0; sf_quota_rules_tenant(rules, i, &tenant); i++) {
        if (!sf_str_eq(tenant, last)) /* rules of one tenant are adjacent */
            sf_buf_print(o->out, "# limits of its own: /status/overrides/%.*s\n",
                         SF_STR_ARG(tenant));
        last = tenant;
    }
}

/* The limits of one tenant, or which tenants have their own; after them the server's limits, which
 * apply to all. */
bool sf_status_pages_overrides(struct sf_call *call,
                               __attribute__((unused)) struct sf_worker *worker)
{
    struct overrides o = {&call->response->body, call->arg, mode_of(call)};
    struct sf_why why;
    if (o.mode > MODE_DIFF)
        return refuse_mode(call, "diff");
    if (o.tenant.len && sf_tenant_check_name(o.tenant, &why))
        return sf_call_fail(call, SF_ERR_INPUT, &why);
    sf_call_ok(call, TEXT);
    if (call->service->quota)
        sf_quota_visit(call->service->quota, o.tenant.len ? show_tenant : show_tenants, &o);
    status_pages_add_line(call, SF_STR("# of the server, the same for every tenant"));
    return add_config(call, SF_STR("limits."), o.mode);
}

bool sf_status_pages_usage(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    sf_call_ok(call, TEXT);
    status_pages_add_line(call, SF_STR("no usage reports are sent"));
    return end_page(call);
}

/* All pages but the configuration, which only administrators may read. */
bool sf_status_pages_all(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    sf_call_ok(call, TEXT);
    add_version(call);
    sf_buf_add_u8(&call->response->body, '\n');
    status_pages_add_services(call);
    sf_buf_add_u8(&call->response->body, '\n');
    add_endpoints(call);
    return end_page(call);
}
