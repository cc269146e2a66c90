/* router.c - routes requests. On the loop's thread, before the body is read: check host, route,
 * origin, token, content type, parameters, tenant and load, in this order; the first check that
 * fails writes the answer. The rest runs on a worker thread of the route's class. */
#include "serve/router.h"

#include <stdio.h>
#include <string.h>

#include "base/time_unit.h"
#include "exec/tenant.h"
#include "os/clock.h"
#include "os/random.h"
#include "serve/admission.h"
#include "serve/auth.h"
#include "serve/caller_key.h"
#include "serve/cors.h"
#include "serve/grpc_web.h"
#include "serve/ingest_wait.h"
#include "serve/origin.h"
#include "serve/otlp/other_signals.h"
#include "serve/otlp/otlp_traces.h"
#include "serve/own/self.h"
#include "serve/own/symbols.h"
#include "serve/param_check.h"
#include "serve/pyroscope/pyroscope_self.h"
#include "serve/query_turn.h"
#include "serve/route_table.h"

unsigned sf_router_place(const struct sf_route *route)
{
    return route ? (unsigned)(route - sf_routes) + 1 : 0;
}

const char *sf_router_label(const struct sf_route *route)
{
    return route ? route->path : "(no route)";
}

int sf_router_http_of_grpc(int grpc_status)
{
    switch (grpc_status) {
    case SF_GRPC_OK: return 200;
    case SF_GRPC_INVALID_ARGUMENT: return 400;
    case SF_GRPC_UNAUTHENTICATED: return 401;
    case SF_GRPC_PERMISSION_DENIED: return 403;
    case SF_GRPC_NOT_FOUND:
    case SF_GRPC_UNIMPLEMENTED: return 404;
    case SF_GRPC_RESOURCE_EXHAUSTED: return 429;
    case SF_GRPC_CANCELLED: return 499;
    case SF_GRPC_UNAVAILABLE: return 503;
    case SF_GRPC_DEADLINE_EXCEEDED: return 504;
    default: return 500;
    }
}

/* ---- matching routes ---- */

static bool path_matches(const char *pattern, sf_str path, sf_str *out_arg)
{
    sf_str p = sf_str_from(pattern);
    size_t at, end;
    if (!sf_str_find_char(p, '{', &at) || !sf_str_find_char(p, '}', &end))
        return sf_str_eq(p, path);
    sf_str before = sf_str_part(p, 0, at), after = sf_str_from_at(p, end + 1);
    if (path.len <= before.len + after.len || !sf_str_starts(path, before) ||
        !sf_str_ends(path, after))
        return false;
    sf_str arg = sf_str_part(path, before.len, path.len - before.len - after.len);
    bool may_have_slashes = p.p[at + 1] == '*';
    if (!may_have_slashes && sf_str_find_char(arg, '/', &at))
        return false;
    *out_arg = arg;
    return true;
}

struct match {
    const struct sf_route *route; /* path and method match */
    sf_str arg;
    bool has_path;
    char methods[64]; /* methods allowed for the path: "GET, HEAD" */
};

static void add_method(struct match *m, const char *method)
{
    size_t len = strlen(m->methods);
    snprintf(m->methods + len, sizeof(m->methods) - len, "%s%s", len ? ", " : "", method);
}

static struct match find_route(const struct sf_request *r)
{
    struct match m = {0};
    for (size_t i = 0; i < sf_n_routes; i++) {
        const struct sf_route *route = &sf_routes[i];
        sf_str arg = SF_STR_NONE;
        if (route->is_grpc != r->is_grpc || !path_matches(route->path, r->path, &arg))
            continue;
        m.has_path = true;
        add_method(&m, route->method == SF_METHOD_GET      ? "GET, HEAD"
                       : route->method == SF_METHOD_DELETE ? "DELETE"
                       : route->method == SF_METHOD_PUT    ? "PUT"
                                                           : "POST");
        bool is_head = r->method == SF_METHOD_HEAD && route->method == SF_METHOD_GET;
        if (!m.route && (r->method == route->method || is_head)) {
            m.route = route;
            m.arg = arg;
        }
    }
    return m;
}

/* The path that was probably intended by one with an extra slash, without a signal path, or with a
 * typing error. */
static const char *nearest_path(sf_str path)
{
    const char *best = NULL;
    size_t best_distance = 4;
    while (path.len > 1 && path.p[path.len - 1] == '/')
        path.len--;
    for (size_t i = 0; i < sf_n_routes && path.len <= 64; i++) {
        size_t d = sf_str_distance(path, sf_str_from(sf_routes[i].path));
        bool is_page = !sf_routes[i].path[1]; /* "/" is similar to every short path */
        if (!sf_routes[i].is_grpc && !is_page && d < best_distance) {
            best = sf_routes[i].path;
            best_distance = d;
        }
    }
    return best;
}

/* ---- refusals ---- */

static enum sf_error_form form_of(const struct sf_request *r, bool is_otlp)
{
    if (r->is_grpc)
        return SF_FORM_GRPC;
    if (is_otlp && sf_str_ieq(r->content_type, SF_STR("application/json")))
        return SF_FORM_OTLP_JSON;
    if (is_otlp && (sf_str_ieq(r->content_type, SF_STR("application/x-protobuf")) ||
                    sf_str_ieq(r->content_type, SF_STR("application/protobuf"))))
        return SF_FORM_OTLP_PB;
    return SF_FORM_TEXT;
}

/* "/push.v1.PusherService/Push": a package, a service, a method. */
static bool is_connect_path(sf_str path)
{
    size_t at;
    return !sf_str_starts(path, SF_STR(SF_OTLP_PACKAGE)) && sf_str_find(path, SF_STR(".v1"), &at) &&
           sf_str_find_char(sf_str_from_at(path, 1), '/', &at);
}

static enum sf_error_form form_of_route(const struct sf_request *r, const struct sf_route *route)
{
    enum sf_error_form form = form_of(r, route->is_otlp);
    sf_str path = sf_str_from(route->path);
    if (form != SF_FORM_TEXT)
        return form;
    if (is_connect_path(path))
        return sf_grpc_web_is(r) ? SF_FORM_GRPC_WEB : SF_FORM_CONNECT;
    return sf_str_ends(path, SF_STR("/ingest")) || sf_str_starts(path, SF_STR("/pyroscope/"))
               ? SF_FORM_PYROSCOPE
               : SF_FORM_TEXT;
}

static bool router_refuse(struct sf_call *call, enum sf_count reason, struct sf_outcome status,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));
static bool router_refuse(struct sf_call *call, enum sf_count reason, struct sf_outcome status,
                          const char *format, ...)
{
    struct sf_why why;
    va_list args;
    va_start(args, format);
    sf_fail_va(&why, SF_OK, format, args);
    va_end(args);
    sf_call_refuse(call, reason, status, why.text);
    return false;
}

static bool refuse_path(struct sf_call *call)
{
    static const struct sf_outcome unimplemented = {501, SF_GRPC_UNIMPLEMENTED, 0};
    const struct sf_request *r = call->request;
    if (sf_pyroscope_self_knows(r->path)) {
        if (!r->is_grpc)
            call->form = sf_grpc_web_is(r) ? SF_FORM_GRPC_WEB : SF_FORM_CONNECT;
        return router_refuse(
            call, SF_COUNT_REJECT_NO_ROUTE, unimplemented, "this server does not provide %.*s%s",
            SF_STR_ARG(sf_str_part(r->path, 0, 80)), sf_pyroscope_self_instead(r->path));
    }
    if (r->is_grpc)
        return router_refuse(call, SF_COUNT_REJECT_NO_ROUTE, sf_status_no_route,
                             "unknown method %.*s; this server takes OTLP traces: " SF_OTLP_PACKAGE
                             "trace.v1.TraceService/Export, and queries: " SF_TEMPO_PACKAGE
                             "Search",
                             SF_STR_ARG(sf_str_part(r->path, 0, 80)));
    if (sf_str_starts(r->path, SF_STR(SF_TEMPO_PACKAGE)))
        return router_refuse(call, SF_COUNT_REJECT_CONTENT_TYPE, sf_status_content_type,
                             "gRPC needs HTTP/2 and content-type application/grpc; plain HTTP asks "
                             "/api/search");
    if (sf_str_starts(r->path, SF_STR(SF_OTLP_PACKAGE)))
        return router_refuse(
            call, SF_COUNT_REJECT_CONTENT_TYPE, sf_status_content_type,
            "gRPC needs HTTP/2 and content-type application/grpc; plain HTTP goes to "
            "/v1/traces");
    const char *nearest = nearest_path(r->path);
    return router_refuse(call, SF_COUNT_REJECT_NO_ROUTE, sf_status_no_route,
                         "no such path: %.*s%s%s", SF_STR_ARG(sf_str_part(r->path, 0, 100)),
                         nearest ? "; did you mean " : "", nearest ? nearest : "");
}

/* At most one warning a second: unauthenticated clients must not fill the log. */
static bool may_warn(struct sf_service *s)
{
    int64_t now_ns = sf_clock_mono_ns(), last_ns = atomic_load(&s->warned_ns);
    return (last_ns == 0 || now_ns - last_ns > SF_NS_PER_S) &&
           atomic_compare_exchange_strong(&s->warned_ns, &last_ns, now_ns);
}

/* The host without the port, so that the log can merge repeated lines of one peer. */
static sf_str router_host_of(const char *peer)
{
    sf_str text = sf_str_from(peer ? peer : "?");
    size_t len = text.len;
    while (len && text.p[len - 1] != ':')
        len--;
    return len ? sf_str_part(text, 0, len - 1) : text;
}

/* ---- checks, in this order ---- */

static bool admit_path(struct sf_call *call)
{
    const struct sf_request *r = call->request;
    struct match m = find_route(r);
    call->form = form_of(r, sf_str_starts(r->path, SF_STR("/v1")));
    if (!m.has_path)
        return refuse_path(call);
    if (sf_cors_preflight(call->service, r, sf_str_from(m.methods), call->response))
        return false;
    if (!m.route) {
        sf_response_header(call->response, "allow", sf_str_from(m.methods));
        if (sf_str_eq(r->path, SF_STR("/")))
            return router_refuse(call, SF_COUNT_REJECT_METHOD, sf_status_bad_method,
                                 "nothing is sent to /; OTLP traces go to /v1/traces");
        return router_refuse(call, SF_COUNT_REJECT_METHOD, sf_status_bad_method, "%.*s takes %s",
                             SF_STR_ARG(sf_str_part(r->path, 0, 100)), m.methods);
    }
    call->route = m.route;
    call->arg = m.arg;
    call->form = form_of_route(r, m.route);
    sf_cors_allow(call->service, r, call->response);
    return true;
}

/* Checks the Host header against DNS rebinding. Not needed with a token, which a foreign page does
 * not have (but a header set by a proxy is not a token), nor with TLS, where the certificate has
 * confirmed the name. */
static bool admit_host(struct sf_call *call)
{
    struct sf_service *s = call->service;
    const struct sf_request *r = call->request;
    if ((s->auth.token && !sf_auth_is_signed_in(s, r)) || r->is_tls || sf_origin_is_our_host(s, r))
        return true;
    struct match m = find_route(r);
    sf_str host = sf_str_part(r->authority, 0, 100);
    call->form = m.route ? form_of_route(r, m.route)
                         : form_of(r, sf_str_starts(r->path, SF_STR("/v1")));
    if (may_warn(s))
        sf_service_say(s, SF_SAY_WARN,
                       "serve: refused a request for the host %.*s; if that is this server, add "
                       "it to server.hosts peer=%.*s",
                       SF_STR_ARG(host), SF_STR_ARG(router_host_of(r->peer)));
    return router_refuse(call, SF_COUNT_REJECT_DENIED, sf_status_misdirected,
                         "the host name %.*s is not a name of this server; if it should be, add it "
                         "to server.hosts in the configuration",
                         SF_STR_ARG(host));
}

/* Calls that need no permission, such as the page, may be linked from any site; others are refused
 * when a page of another origin makes them, whatever credentials the browser adds. */
static bool admit_page(struct sf_call *call)
{
    if (call->route->scope == 0 || !sf_origin_is_foreign(call->service, call->request))
        return true;
    sf_str origin = sf_request_header(call->request, SF_STR("origin"));
    return router_refuse(
        call, SF_COUNT_REJECT_DENIED, sf_status_denied,
        "this request comes from a page of another origin (%.*s); to allow it, add the origin to "
        "cors.origins in the configuration",
        SF_STR_ARG(origin.len ? sf_str_part(origin, 0, 100) : SF_STR("not named")));
}

static bool admit_body_kind(struct sf_call *call)
{
    const struct sf_request *r = call->request;
    if (call->route->needs_json && !sf_str_ieq(r->content_type, SF_STR("application/json")))
        return router_refuse(
            call, SF_COUNT_REJECT_CONTENT_TYPE, sf_status_content_type,
            "this call changes data: send it with content-type application/json, also "
            "when there is no body");
    if (!call->route->is_otlp)
        return true;
    if (call->form == SF_FORM_TEXT)
        return router_refuse(call, SF_COUNT_REJECT_CONTENT_TYPE, sf_status_content_type,
                             "content-type %.*s%s is not read here; use application/x-protobuf or "
                             "application/json",
                             SF_STR_ARG(sf_str_part(r->content_type, 0, 60)),
                             r->content_type.len ? "" : "(none)");
    if (r->coding == SF_CODING_OTHER)
        return router_refuse(
            call, SF_COUNT_REJECT_ENCODING, sf_status_content_type,
            "this content encoding is not read here; use gzip, zstd, deflate or none");
    return true;
}

static const char *scope_name(unsigned scope)
{
    return scope == SF_MAY_READ      ? "read"
           : scope == SF_MAY_WRITE   ? "write"
           : scope == SF_MAY_CONTROL ? "control"
                                     : "admin";
}

static bool admit_caller(struct sf_call *call, struct sf_grant *grant)
{
    const struct sf_route *route = call->route;
    struct sf_why why;
    if (route->scope == 0)
        return true;
    enum sf_err err = sf_auth_grant(call->service, call->request, grant, &why);
    memcpy(call->caller, grant->name, sizeof(call->caller));
    if (err == SF_ERR_NOT_FOUND) {
        sf_response_header(call->response, "www-authenticate", SF_STR("Bearer"));
        return router_refuse(call, SF_COUNT_REJECT_UNAUTHENTICATED, sf_status_unauthenticated, "%s",
                             why.text);
    }
    if (err)
        return router_refuse(call, SF_COUNT_REJECT_DENIED, sf_status_of(err), "%s", why.text);
    if (!(grant->scopes & route->scope))
        return router_refuse(call, SF_COUNT_REJECT_DENIED, sf_status_denied,
                             "this token may not %s; use one with the scope %s",
                             route->scope == SF_MAY_ADMIN ? "administer" : scope_name(route->scope),
                             scope_name(route->scope));
    if (route->scope == SF_MAY_ADMIN && !route->has_tenant && grant->tenants.len)
        return router_refuse(
            call, SF_COUNT_REJECT_DENIED, sf_status_denied,
            "this call is about the whole server; use a token that is not bound to "
            "tenants");
    return true;
}

static bool admit_params(struct sf_call *call)
{
    static const struct sf_outcome too_long = {414, SF_GRPC_INVALID_ARGUMENT, 0};
    static const struct sf_outcome unsupported = {501, SF_GRPC_UNIMPLEMENTED, 0};
    struct sf_why why;
    uint64_t n_unknown;
    enum sf_err err = sf_param_check(call->request, call->route, &n_unknown, &why);
    if (n_unknown)
        sf_counters_add(call->service->counters,
                        sf_str_starts(sf_str_from(call->route->path), SF_STR("/pyroscope/"))
                            ? SF_COUNT_UNKNOWN_PYROSCOPE
                            : SF_COUNT_UNKNOWN_TEMPO,
                        n_unknown);
    return !err || router_refuse(call,
                                 err == SF_ERR_LIMIT ? SF_COUNT_REJECT_TOO_LARGE
                                                     : SF_COUNT_REJECT_MALFORMED,
                                 err == SF_ERR_LIMIT         ? too_long
                                 : err == SF_ERR_UNSUPPORTED ? unsupported
                                                             : sf_status_of(err),
                                 "%s", why.text);
}

/* A proxy that adds its header to the client's instead of replacing it would let clients choose. */
static bool has_two_tenant_headers(const struct sf_request *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_headers; i++)
        n += sf_str_eq(r->headers[i].name, SF_STR("x-scope-orgid"));
    return n > 1;
}

/* A token bound to one tenant needs no tenant header. */
static bool take_tenant(struct sf_call *call, const struct sf_grant *grant)
{
    sf_str header = sf_request_header(call->request, SF_STR("x-scope-orgid"));
    sf_str own = sf_buf_str(&grant->tenants);
    size_t at;
    struct sf_why why;
    if (has_two_tenant_headers(call->request))
        return router_refuse(call, SF_COUNT_REJECT_TENANT, sf_status_of(SF_ERR_INPUT),
                             "X-Scope-OrgID occurs more than once");
    if (header.len == 0 && own.len > 0 && own.len < sizeof(call->own_tenant) &&
        !sf_str_find_char(own, ',', &at)) {
        memcpy(call->own_tenant, own.p, own.len);
        header = (sf_str){call->own_tenant, own.len};
    }
    if (header.len == 0)
        return router_refuse(call, SF_COUNT_REJECT_TENANT, sf_status_unauthenticated, "no org id");
    if (sf_tenant_check(header, call->route->scope == SF_MAY_READ, &why))
        return router_refuse(call, SF_COUNT_REJECT_TENANT, sf_status_of(SF_ERR_INPUT), "%s",
                             why.text);
    call->tenant = header;
    return true;
}

static bool admit_tenant(struct sf_call *call, const struct sf_grant *grant)
{
    call->tenant = SF_STR("single-tenant");
    if (!call->route->has_tenant || call->route->scope == 0)
        return true;
    if (call->service->has_tenancy && !take_tenant(call, grant))
        return false;
    if (sf_auth_has_tenants(grant, call->tenant))
        return true;
    return router_refuse(call, SF_COUNT_REJECT_TENANT, sf_status_denied,
                         "this token is not valid for the tenant %.*s%s",
                         SF_STR_ARG(sf_str_part(call->tenant, 0, 60)),
                         call->service->has_tenancy ? "" : " (tenancy.enabled is off)");
}

static struct sf_queue *queue_of(struct sf_service *s, enum sf_route_class class)
{
    switch (class) {
    case SF_CLASS_INGEST:
    case SF_CLASS_DISCARD: return s->ingest;
    case SF_CLASS_CONTROL: return s->control;
    default: return NULL;
    }
}

static bool refuse_full_queue(struct sf_call *call)
{
    return router_refuse(call, SF_COUNT_REJECT_QUEUE_FULL, sf_status_overloaded,
                         "too many requests are waiting %s; retry",
                         call->route->class == SF_CLASS_CONTROL ? "for an answer"
                                                                : "to be decoded");
}

static struct sf_lane *lane_of(const struct sf_call *call)
{
    switch (call->route->class) {
    case SF_CLASS_POINT:
        return call->route->is_wide && call->route->is_wide(call) ? call->service->query
                                                                  : call->service->point;
    case SF_CLASS_QUERY: return call->service->query;
    default: return NULL;
    }
}

/* Refuses profiles before spans, and only half of the spans at first: the other half keeps the disk
 * busy while senders back off. A request that may wait for memory is admitted, and refused later if
 * there is still none. Detail is dropped later, when samples are decoded. */
static bool admit_under_load(struct sf_call *call)
{
    struct sf_service *s = call->service;
    enum sf_pressure level = sf_service_pressure(s);
    bool is_spans = sf_ingest_wait_is_spans(call->route);
    bool is_full = sf_queue_depth(s->ingest) >= SF_LIMIT_INGEST_QUEUE;
    bool is_refused = is_full || level == SF_PRESSURE_REFUSE ||
                      (level >= SF_PRESSURE_PROFILES && !is_spans) ||
                      (level == SF_PRESSURE_SPANS && (sf_random_u64() & 1));
    if (!is_refused || (!is_full && level < SF_PRESSURE_REFUSE && sf_ingest_wait_may(call)))
        return true;
    sf_service_count_shed(s, call->tenant, is_spans ? SF_SHED_SPANS : SF_SHED_PROFILES);
    if (level == SF_PRESSURE_REFUSE)
        return router_refuse(call, SF_COUNT_REJECT_DISK, sf_status_of(SF_ERR_FULL),
                             "writes are refused at the moment; GET /ready says why");
    if (is_full)
        return refuse_full_queue(call);
    return router_refuse(call, SF_COUNT_REJECT_PRESSURE, sf_status_overloaded,
                         "the server is under load and accepts %s; retry",
                         is_spans ? "half of the requests" : "no profiles at the moment");
}

static bool admit_work(struct sf_call *call)
{
    struct sf_service *s = call->service;
    enum sf_route_class class = call->route->class;
    struct sf_store *store = atomic_load(&s->store);
    char room[200];
    if (class == SF_CLASS_DISCARD)
        return sf_queue_depth(s->ingest) < SF_LIMIT_INGEST_QUEUE || refuse_full_queue(call);
    if (class != SF_CLASS_INGEST && class != SF_CLASS_POINT && class != SF_CLASS_QUERY)
        return true;
    const char *unready = sf_service_unready(s, room);
    if (unready || !store)
        return router_refuse(call, SF_COUNT_REJECT_NOT_READY, sf_status_unavailable, "%s",
                             unready ? unready : "starting");
    if (class != SF_CLASS_INGEST)
        return true;
    if (!admit_under_load(call))
        return false;
    return sf_admission_check_tenant(call, sf_ingest_wait_is_spans(call->route));
}

bool sf_router_admit(struct sf_service *service, const struct sf_request *request,
                     struct sf_response *response, struct sf_call *call)
{
    call->service = service;
    call->request = request;
    call->response = response;
    call->started_ns = sf_clock_mono_ns();
    struct sf_grant grant = {0};
    bool is_in = admit_host(call) && admit_path(call) && admit_page(call) &&
                 admit_caller(call, &grant) && admit_body_kind(call) && admit_params(call) &&
                 admit_tenant(call, &grant) && admit_work(call);
    sf_buf_done(&grant.tenants);
    return is_in;
}

/* ---- the listener's hooks ---- */

bool sf_router_on_headers(void *arg, struct sf_exchange *ex)
{
    struct sf_call *call = sf_exchange_user(ex);
    call->ex = ex;
    if (sf_router_admit(arg, sf_exchange_request(ex), sf_exchange_response(ex), call))
        return true;
    int status = call->response->status;
    if (call->form == SF_FORM_GRPC || call->form == SF_FORM_GRPC_WEB)
        status = sf_router_http_of_grpc(call->response->grpc_status);
    sf_counters_request(call->service->counters, sf_router_place(call->route),
                        sf_router_label(call->route), status, 0);
    return false;
}

uint64_t sf_router_max_body(void *arg, const struct sf_request *request)
{
    const struct sf_service *s = arg;
    return request->method == SF_METHOD_PUT &&
                   sf_str_starts(request->path, SF_STR(SF_SYMBOLS_PATH)) && s->symbols
               ? sf_symbolizer_files(s->symbols)->max_file_len
               : 0;
}

static void wait_in_lane(struct sf_lane *lane, struct sf_call *call)
{
    struct sf_outcome status = sf_status_overloaded;
    struct sf_call *refused = call;
    struct sf_why why;
    struct sf_quota_refusal over;
    call->client = sf_caller_key(call);
    if (call->service->quota && call->route->has_tenant) {
        call->has_query_place = sf_quota_query_begin(call->service->quota, call->tenant,
                                                     sf_clock_mono_ns(), &over);
        if (!call->has_query_place) {
            sf_admission_refuse_call(call, &over, SF_STR_NONE);
            sf_call_finish(call);
            return;
        }
    }
    enum sf_err err = sf_lane_give(lane, call, &refused, &status.retry_after_s, &why);
    if (!err)
        return;
    router_refuse(refused, SF_COUNT_REJECT_QUEUE_FULL,
                  err == SF_ERR_BUSY ? status : sf_status_unavailable, "%s", why.text);
    sf_call_finish(refused);
}

void sf_router_on_request(void *arg, struct sf_exchange *ex)
{
    struct sf_call *call = sf_exchange_user(ex);
    struct sf_lane *lane = lane_of(call);
    struct sf_queue *queue = queue_of(arg, call->route->class);
    call->whole_ns = sf_clock_mono_ns();
    if (lane) {
        wait_in_lane(lane, call);
    } else if (!queue) {
        sf_router_run(ex, NULL);
    } else if (sf_queue_give(queue, ex)) { /* the queue filled up while the body was read */
        if (call->route->class == SF_CLASS_INGEST)
            sf_service_count_shed(arg, call->tenant,
                                  sf_ingest_wait_is_spans(call->route) ? SF_SHED_SPANS
                                                                       : SF_SHED_PROFILES);
        refuse_full_queue(call);
        sf_call_finish(call);
    }
}

void sf_router_on_fault(void *arg, enum sf_listen_fault kind, const char *reason, const char *peer)
{
    struct sf_service *s = arg;
    sf_counters_add(s->counters, SF_COUNT_LISTEN_FAULTS, 1);
    /* A TLS failure is usually a configuration error, and this log is where users look for it. */
    if (kind == SF_FAULT_TLS && may_warn(s))
        sf_service_say(s, SF_SAY_WARN, "listen: %s peer=%.*s", reason,
                       SF_STR_ARG(router_host_of(peer)));
    else
        sf_service_say(s, SF_SAY_DEBUG, "listen: %s peer=%s", reason, peer ? peer : "?");
}

static int grpc_of_http(int status)
{
    switch (status) {
    case 408:
    case 504: return SF_GRPC_DEADLINE_EXCEEDED;
    case 413: return SF_GRPC_RESOURCE_EXHAUSTED;
    case 503: return SF_GRPC_UNAVAILABLE;
    default: return SF_GRPC_INVALID_ARGUMENT;
    }
}

void sf_router_on_refuse(void *arg, const struct sf_request *request, struct sf_response *response,
                         const char *reason)
{
    struct sf_service *s = arg;
    struct match m = find_route(request);
    struct sf_outcome outcome = {response->status, grpc_of_http(response->status),
                                 response->retry_after_s};
    bool is_otlp = m.route ? m.route->is_otlp : sf_str_starts(request->path, SF_STR("/v1"));
    enum sf_error_form form = m.route ? form_of_route(request, m.route) : form_of(request, is_otlp);
    sf_status_answer(response, form, outcome, reason);
    if (outcome.http == 413) { /* other faults are counted elsewhere */
        sf_counters_add(s->counters, SF_COUNT_REJECT_TOO_LARGE, 1);
        sf_counters_request(s->counters, sf_router_place(m.route), sf_router_label(m.route), 413,
                            0);
    }
}

void sf_router_run(struct sf_exchange *ex, struct sf_worker *worker)
{
    struct sf_call *call = sf_exchange_user(ex);
    struct sf_service *s = call->service;
    enum sf_ingest_wait wait = call->route->class == SF_CLASS_INGEST ? sf_ingest_wait(call)
                                                                     : SF_INGEST_WAIT_OVER;
    if (wait == SF_INGEST_WAIT_LONGER)
        return;
    if (worker)
        sf_arena_reset(&worker->arena);
    if (wait == SF_INGEST_WAIT_IN_VAIN || call->route->handle(call, worker))
        sf_call_finish(call);
    if (worker)
        sf_large_turn_end(s, worker);
}

/* False: the client has disconnected, or the deadline is over; the answer is filled. */
static bool router_is_in_time(struct sf_call *call)
{
    struct sf_why why;
    int64_t deadline_ns = call->request->deadline_ns;
    if (atomic_load(sf_exchange_cancel(call->ex)))
        return !sf_call_fail(call, SF_ERR_CANCELLED, NULL);
    if (deadline_ns <= 0 || sf_clock_mono_ns() < deadline_ns)
        return true;
    sf_fail(&why, SF_ERR_DEADLINE, "the query waited for a thread until its time was over; retry");
    return !sf_call_fail(call, SF_ERR_DEADLINE, &why);
}

/* Escaping can make an answer several times as long as its data. */
static size_t max_answer_len(const struct sf_service *s)
{
    enum { LEAST_LEN = 32 << 20 };
    size_t len = (size_t)s->query_memory_len / 2 * 3;
    return len > LEAST_LEN ? len : (size_t)LEAST_LEN;
}

bool sf_router_run_next(struct sf_lane *lane, struct sf_worker *worker)
{
    struct sf_lane_client client;
    struct sf_call *call = sf_lane_take(lane, &client);
    if (!call)
        return false;
    int64_t begin_ns = sf_clock_mono_ns();
    call->response->body.max = max_answer_len(call->service);
    if (router_is_in_time(call))
        sf_query_turn_run(call, worker);
    else
        sf_call_finish(call);
    sf_lane_end(lane, client, sf_clock_mono_ns() - begin_ns);
    return true;
}
