/* erase.c - DELETE of data: reads the request (JSON body or parameters), checks that it names
 * something, counts what matches, then erases unless it is a dry run; if there is too much to
 * count, it is erased uncounted. Every erasure is logged with the caller's name. Also the endpoint
 * that flushes memory to disk. */
#include "serve/own/erase.h"

#include <stdio.h>

#include "base/text.h"
#include "exec/erase_count.h"
#include "exec/tenant.h"
#include "os/clock.h"
#include "serve/kept_text.h"
#include "serve/params.h"
#include "serve/plain_body.h"
#include "serve/pyroscope/adhoc_files.h"
#include "wire/json.h"
#include "wire/json_write.h"
#include "wire/time_text.h"

enum { MAX_TRACES = 10000, MAX_BODY_LEN = 1 << 20 };

static enum sf_err erase_add_trace(struct sf_erase_request *e, sf_str text, struct sf_arena *req,
                                   struct sf_why *why)
{
    sf_trace_id *ids = (sf_trace_id *)(uintptr_t)e->which.trace_ids;
    if (!ids)
        ids = sf_arena_new_n(req, MAX_TRACES, sizeof(*ids));
    if (!ids || e->which.n_traces == MAX_TRACES)
        return sf_fail(why, SF_ERR_LIMIT, "at most %d traces are erased at once", MAX_TRACES);
    e->which.trace_ids = ids;
    enum sf_err err = sf_params_trace_id(text, &ids[e->which.n_traces], why);
    if (!err)
        e->which.n_traces++;
    return err;
}

static enum sf_err erase_read_time(struct sf_json *j, int64_t now_ns, int64_t *out_ns,
                                   struct sf_why *why)
{
    if (sf_json_peek(j) == SF_JSON_NUMBER) {
        double v = sf_json_f64(j);
        char text[32];
        snprintf(text, sizeof(text), v < 9e9 ? "%.9f" : "%.0f", v);
        return sf_time_text_parse(sf_str_from(text), now_ns, out_ns)
                   ? SF_OK
                   : sf_fail(why, SF_ERR_INPUT, "%s is not a time", text);
    }
    sf_str text = sf_json_str(j);
    if (!sf_json_ok(j) || sf_time_text_parse(text, now_ns, out_ns))
        return SF_OK;
    return sf_fail(why, SF_ERR_INPUT, "%.*s is not a time; use unix seconds, RFC 3339 or now-15m",
                   SF_STR_ARG(sf_str_part(text, 0, 60)));
}

/* 0 means "no end", so an unset variable would erase everything. */
static enum sf_err check_until(int64_t until_ns, struct sf_why *why)
{
    return until_ns > 0 ? SF_OK : sf_fail(why, SF_ERR_INPUT, "until must be later than 1970");
}

static enum sf_err erase_read_traces(struct sf_json *j, struct sf_erase_request *e,
                                     struct sf_arena *req, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    if (!sf_json_array(j))
        return SF_OK;
    while (!err && sf_json_item(j)) {
        sf_str id = sf_json_str(j);
        if (sf_json_ok(j))
            err = erase_add_trace(e, id, req, why);
    }
    if (!err && sf_json_ok(j) && e->which.n_traces == 0)
        err = sf_fail(why, SF_ERR_INPUT, "traces is empty: name the traces");
    return err;
}

static enum sf_err read_service(struct sf_json *j, struct sf_erase_request *e, struct sf_why *why)
{
    e->which.service = sf_json_str(j);
    return sf_json_ok(j) && e->which.service.len == 0
               ? sf_fail(why, SF_ERR_INPUT, "service is empty: name the service")
               : SF_OK;
}

/* The word's index; N_WORDS: unknown. */
enum word { TRACES, SERVICE, FROM, UNTIL, ALL, DRY_RUN, N_WORDS };

static enum word erase_word_of(sf_str key)
{
    static const char *const words[N_WORDS] = {"traces", "service", "from",
                                               "until",  "all",     "dry_run"};
    enum word w = TRACES;
    while (w < N_WORDS && !sf_str_eq(key, sf_str_from(words[w])))
        w++;
    return w;
}

enum sf_err sf_erase_parse_json(sf_str body, int64_t now_ns, struct sf_arena *req,
                                struct sf_erase_request *out, struct sf_why *why)
{
    struct sf_json j;
    struct sf_erase_request e = {0};
    enum sf_err err = SF_OK;
    unsigned seen = 0;
    sf_str key;
    sf_json_init(&j, body, req);
    if (!sf_json_object(&j) && sf_json_ok(&j))
        return sf_fail(why, SF_ERR_INPUT, "the body must be a JSON object");
    while (!err && sf_json_key(&j, &key)) {
        enum word w = erase_word_of(key);
        if (w == N_WORDS) /* an unknown word may have been meant to narrow the selection: refuse */
            return sf_fail(why, SF_ERR_INPUT,
                           "unknown key %.*s; known are traces, service, from, until, all, dry_run",
                           SF_STR_ARG(sf_str_part(key, 0, 60)));
        if (seen & 1u << w)
            return sf_fail(why, SF_ERR_INPUT, "%.*s is given more than once", SF_STR_ARG(key));
        seen |= 1u << w;
        if (sf_json_peek(&j) == SF_JSON_NULL)
            return sf_fail(why, SF_ERR_INPUT, "%.*s is null; omit it, or set it", SF_STR_ARG(key));
        switch (w) {
        case TRACES: err = erase_read_traces(&j, &e, req, why); break;
        case SERVICE: err = read_service(&j, &e, why); break;
        case FROM: err = erase_read_time(&j, now_ns, &e.which.from_ns, why); break;
        case UNTIL:
            err = erase_read_time(&j, now_ns, &e.which.to_ns, why);
            if (!err && sf_json_ok(&j))
                err = check_until(e.which.to_ns, why);
            break;
        case ALL: e.is_all = sf_json_bool(&j); break;
        default: e.is_dry_run = sf_json_bool(&j); break;
        }
    }
    if (!err && sf_json_end(&j))
        *out = e;
    return err ? err : sf_json_why(&j, "body", why);
}

static enum sf_err param_time(const struct sf_request *r, const char *name, int64_t now_ns,
                              struct sf_buf *room, int64_t *out_ns, struct sf_why *why)
{
    if (!sf_request_param(r, sf_str_from(name), room) ||
        sf_time_text_parse(sf_buf_str(room), now_ns, out_ns))
        return SF_OK;
    return sf_fail(why, SF_ERR_INPUT, "%s=%.*s is not a time", name,
                   SF_STR_ARG(sf_str_part(sf_buf_str(room), 0, 60)));
}

/* The router has checked that each parameter is known, given once, not empty and well encoded. */
enum sf_err sf_erase_parse_params(const struct sf_request *r, int64_t now_ns, struct sf_arena *req,
                                  struct sf_erase_request *out, struct sf_why *why)
{
    struct sf_buf room = {.max = SF_LIMIT_PARAM_LEN};
    struct sf_erase_request e = {0};
    enum sf_err err = SF_OK;
    if (sf_request_param(r, SF_STR("service"), &room) &&
        !sf_arena_copy(req, sf_buf_str(&room), &e.which.service))
        err = sf_fail(why, SF_ERR_LIMIT, "no memory for the parameters");
    if (!err)
        err = param_time(r, "from", now_ns, &room, &e.which.from_ns, why);
    if (!err)
        err = param_time(r, "until", now_ns, &room, &e.which.to_ns, why);
    if (!err && sf_request_param(r, SF_STR("until"), &room))
        err = check_until(e.which.to_ns, why);
    if (!err)
        err = sf_params_bool(r, SF_STR("all"), &e.is_all, why);
    if (!err)
        err = sf_params_bool(r, SF_STR("dry_run"), &e.is_dry_run, why);
    if (!err && sf_request_param(r, SF_STR("trace"), &room) &&
        sf_request_param(r, SF_STR("traces"), &room))
        err = sf_fail(why, SF_ERR_INPUT, "give trace or traces, not both");
    if (!err && (sf_request_param(r, SF_STR("traces"), &room) ||
                 sf_request_param(r, SF_STR("trace"), &room))) {
        sf_str rest = sf_buf_str(&room), id;
        while (!err && sf_str_split_next(&rest, ',', &id))
            err = erase_add_trace(&e, id, req, why);
    }
    sf_buf_done(&room);
    if (!err)
        *out = e;
    return err;
}

enum sf_err sf_erase_check(struct sf_erase_request *e, struct sf_why *why)
{
    struct sf_selector *w = &e->which;
    bool has_range = w->from_ns || w->to_ns;
    int n = (w->n_traces > 0) + (w->service.len > 0) + e->is_all;
    if (n > 1)
        return sf_fail(why, SF_ERR_INPUT, "set only one of traces, service and all");
    if (n == 0)
        return sf_fail(
            why, SF_ERR_INPUT,
            has_range
                ? "to erase everything in a time range, add all; otherwise set traces or a service"
                : "nothing to erase: set traces, service or all");
    if (has_range && w->to_ns == 0)
        w->to_ns = INT64_MAX;
    if (has_range && w->from_ns >= w->to_ns)
        return sf_fail(why, SF_ERR_INPUT, "from must be before until");
    w->what = w->n_traces ? SF_SELECT_TRACES : w->service.len ? SF_SELECT_SERVICE : SF_SELECT_ALL;
    return SF_OK;
}

static enum sf_err erase_parse(struct sf_call *call, struct sf_worker *worker,
                               struct sf_erase_request *e, struct sf_why *why)
{
    int64_t now_ns = sf_clock_wall_ns();
    sf_str text;
    enum sf_err err;
    if (sf_exchange_body(call->ex)->len == 0)
        return sf_erase_parse_params(call->request, now_ns, &worker->arena, e, why);
    if (call->request->query.len)
        return sf_fail(why, SF_ERR_INPUT, "give a body or query parameters, not both");
    err = sf_call_body(call, MAX_BODY_LEN, "the body", &text, why);
    return err ? err : sf_erase_parse_json(text, now_ns, &worker->arena, e, why);
}

/* Audit record of an erasure: selector, range, amount and caller. */
static void say_erased(struct sf_call *call, const struct sf_erase_request *e,
                       const struct sf_erase_count *count)
{
    const struct sf_selector *w = &e->which;
    struct sf_buf what = {0}, range = {0};
    struct sf_arena kept = {0};
    sf_str service = w->service;
    struct sf_why why;
    char hex[33] = "";
    if (w->what == SF_SELECT_TRACES) {
        sf_hex_encode(w->trace_ids[0].b, sizeof(w->trace_ids[0].b), hex);
        sf_buf_print(&what, w->n_traces > 1 ? "trace:%.32s and %u more" : "trace:%.32s", hex,
                     w->n_traces - 1);
    } else if (w->what == SF_SELECT_SERVICE) {
        if (sf_kept_text_clean(call->service, &kept, "service.name", &service, &why))
            service = SF_STR_NONE;
        sf_buf_print(&what, "service:%.*s", SF_STR_ARG(sf_str_part(service, 0, 40)));
    } else {
        sf_buf_print(&what, "all");
    }
    if (w->from_ns)
        sf_time_text_add(&range, (uint64_t)w->from_ns);
    sf_buf_print(&range, "..");
    if (w->to_ns && w->to_ns != INT64_MAX)
        sf_time_text_add(&range, (uint64_t)w->to_ns);
    sf_service_say(call->service, SF_SAY_INFO,
                   "serve: erase by=%s peer=%s tenant=%.*s what=%.*s range=%.*s spans=%llu "
                   "profiles=%llu",
                   call->caller[0] ? call->caller : "-", call->request->peer,
                   SF_STR_ARG(sf_str_part(call->tenant, 0, 40)), SF_STR_ARG(sf_buf_str(&what)),
                   SF_STR_ARG(sf_buf_str(&range)), (unsigned long long)count->n_spans,
                   (unsigned long long)count->n_profiles);
    sf_arena_done(&kept);
    sf_buf_done(&what);
    sf_buf_done(&range);
}

static void write_answer(struct sf_call *call, const struct sf_erase_request *e,
                         const struct sf_erase_count *count, uint64_t n_adhoc,
                         const struct sf_why *uncounted)
{
    struct sf_json_writer j = sf_json_writer_init(&call->response->body);
    sf_call_ok(call, "application/json");
    sf_json_write_object(&j);
    sf_json_write_key(&j, SF_STR("erased"));
    sf_json_write_bool(&j, !e->is_dry_run);
    sf_json_write_key(&j, SF_STR("dryRun"));
    sf_json_write_bool(&j, e->is_dry_run);
    if (uncounted->text[0]) {
        sf_json_write_key_str(&j, SF_STR("note"), sf_str_from(uncounted->text));
    } else {
        sf_json_write_key_u64(&j, SF_STR("spans"), count->n_spans);
        sf_json_write_key_u64(&j, SF_STR("profiles"), count->n_profiles);
        sf_json_write_key_u64(&j, SF_STR("samples"), count->n_samples);
        sf_json_write_key(&j, SF_STR("isExact"));
        sf_json_write_bool(&j, count->is_exact);
    }
    if (e->is_all)
        sf_json_write_key_u64(&j, SF_STR("adhocProfiles"), n_adhoc);
    sf_json_write_object_end(&j);
    sf_buf_add_u8(&call->response->body, '\n');
}

/* Ad hoc profiles have no service and no traces: only `all` selects them. They are deleted after
 * the store's rows: when that fails, the erasure can be requested again. */
static enum sf_err erase_adhoc(struct sf_call *call, const struct sf_erase_request *e,
                               uint64_t *out_n, struct sf_why *why)
{
    if (!e->is_all || !call->service->adhoc)
        return SF_OK;
    return sf_adhoc_files_erase(call->service->adhoc, call->tenant, e->which.from_ns,
                                e->which.to_ns, e->is_dry_run, out_n, why);
}

bool sf_erase_matching(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_store *store = atomic_load(&call->service->store);
    struct sf_erase_request e = {0};
    struct sf_erase_count count = {0};
    struct sf_why why = {0}, uncounted = {0};
    struct sf_query_ctx q;
    uint32_t tenants[SF_TENANTS_MAX];
    uint64_t n_adhoc = 0;
    enum sf_err err = erase_parse(call, worker, &e, &why);
    if (!err)
        err = sf_erase_check(&e, &why);
    if (!err)
        err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err) {
        err = sf_erase_count(store, &e.which, &q, &count, &uncounted);
        /* What cannot be counted is erased anyway. */
        if (!e.is_dry_run && (err == SF_ERR_LIMIT || err == SF_ERR_DEADLINE))
            err = SF_OK;
        else
            why = err ? uncounted : why;
    }
    if (!err && !e.is_dry_run) {
        say_erased(call, &e, &count);
        if (q.n_tenants > 0)
            err = store->ops->erase(store, tenants[0], &e.which, &why);
    }
    if (!err)
        err = erase_adhoc(call, &e, &n_adhoc, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    write_answer(call, &e, &count, n_adhoc, &uncounted);
    return true;
}

bool sf_erase_flush(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    struct sf_store *store = atomic_load(&call->service->store);
    struct sf_why why = {0};
    enum sf_err err = sf_plain_body_none(call, &why);
    if (!err)
        err = store->ops->flush(store, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    sf_call_ok(call, "application/json");
    sf_buf_add_str(&call->response->body, SF_STR("{\"flushed\":true}\n"));
    return true;
}
