/* otlp_traces.c - OTLP and Zipkin trace uploads: decompress, decode, admit (quotas, load), redact,
 * hand the batch to the store, and answer from the log's callback when it is durable. Rejected
 * spans are reported as partial success. Large bodies run one after another to bound memory. */
#include "serve/otlp/otlp_traces.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "decode/zipkin/zipkin.h"
#include "exec/tenant.h"
#include "intake/recent_traces.h"
#include "os/clock.h"
#include "serve/admission.h"
#include "serve/ingest_wait.h"
#include "serve/otlp/otlp_partial.h"
#include "serve/plain_body.h"

/* ---- the answer ---- */

static void otlp_traces_add_part(struct sf_buf *out, uint64_t n, const char *one, const char *many)
{
    if (n)
        sf_buf_print(out, "%s%llu %s", out->len ? ", " : "", (unsigned long long)n,
                     n == 1 ? one : many);
}

/* Says what was left out, or, when all spans were kept, what was truncated. */
static void otlp_traces_explain(const struct sf_otlp_rejects *r, struct sf_buf *out)
{
    if (r->n_rejected) {
        uint64_t n_other = r->n_rejected;
        n_other -= r->n_bad_trace_id < n_other ? r->n_bad_trace_id : n_other;
        n_other -= r->n_bad_span_id < n_other ? r->n_bad_span_id : n_other;
        otlp_traces_add_part(out, r->n_bad_trace_id, "span with an invalid trace id",
                             "spans with an invalid trace id");
        otlp_traces_add_part(out, r->n_bad_span_id, "span with an invalid span id",
                             "spans with an invalid span id");
        otlp_traces_add_part(out, n_other, "span refused", "spans refused");
        if (r->first[0])
            sf_buf_print(out, "; first: %s", r->first);
        return;
    }
    otlp_traces_add_part(out, r->n_cut_attrs, "attribute dropped", "attributes dropped");
    otlp_traces_add_part(out, r->n_cut_values, "value cut", "values cut");
    otlp_traces_add_part(out, r->n_cut_keys, "key cut", "keys cut");
    otlp_traces_add_part(out, r->n_cut_names, "name cut", "names cut");
    otlp_traces_add_part(out, r->n_cut_events, "event dropped", "events dropped");
    otlp_traces_add_part(out, r->n_cut_links, "link dropped", "links dropped");
    if (out->len)
        sf_buf_print(out, " (over the limits of this server)");
}

void sf_otlp_traces_answer(const struct sf_otlp_rejects *rejects, bool is_json, struct sf_buf *out)
{
    struct sf_buf message = {0};
    otlp_traces_explain(rejects, &message);
    sf_otlp_partial_write("rejectedSpans", rejects->n_rejected, sf_buf_str(&message), is_json, out);
    sf_buf_done(&message);
}

/* ---- the body ---- */

static bool is_zipkin(const struct sf_call *call)
{
    return call->route->handle == sf_otlp_traces_take_zipkin;
}

static enum sf_err otlp_traces_read_body(struct sf_call *call, struct sf_buf *out,
                                         struct sf_why *why)
{
    /* An uncompressed body is given back when it has to be read again; a compressed one often is,
     * because it turns out to be large, and Zipkin's is translated. */
    if (call->request->coding == SF_CODING_NONE && !is_zipkin(call) &&
        sf_exchange_body_take(call->ex, out))
        return SF_OK;
    return sf_plain_body_read(call, out, why);
}

/* ---- the numbers ---- */

static void count_result(struct sf_call *call, const struct sf_intake_result *result)
{
    struct sf_counters *c = call->service->counters;
    const struct sf_otlp_rejects *r = &result->rejects;
    uint64_t n_known = r->n_bad_trace_id + r->n_bad_span_id + result->n_sifted;
    uint64_t n_other = r->n_rejected - (n_known < r->n_rejected ? n_known : r->n_rejected);
    struct sf_tenant_counts tenant = {.n_spans = result->n_spans + r->n_rejected,
                                      .body_len = sf_exchange_body(call->ex)->len,
                                      .n_bad_trace_id = r->n_bad_trace_id,
                                      .n_bad_span_id = r->n_bad_span_id,
                                      .n_rate_limited = result->n_sifted,
                                      .n_other = n_other};
    sf_counters_add(c, SF_COUNT_SPANS_RECEIVED, result->n_spans + r->n_rejected);
    sf_counters_add(c, SF_COUNT_DISCARD_TRACE_ID, r->n_bad_trace_id);
    sf_counters_add(c, SF_COUNT_DISCARD_SPAN_ID, r->n_bad_span_id);
    sf_counters_add(c, SF_COUNT_DISCARD_RATE, result->n_sifted);
    sf_counters_add(c, SF_COUNT_DISCARD_OTHER, n_other);
    sf_counters_add(c, SF_COUNT_CUT_ATTRS, r->n_cut_attrs);
    sf_counters_add(c, SF_COUNT_CUT_VALUES, r->n_cut_values);
    sf_counters_add(c, SF_COUNT_CUT_KEYS, r->n_cut_keys);
    sf_counters_add(c, SF_COUNT_CUT_NAMES, r->n_cut_names);
    sf_counters_add(c, SF_COUNT_CUT_EVENTS, r->n_cut_events);
    sf_counters_add(c, SF_COUNT_CUT_LINKS, r->n_cut_links);
    sf_counters_add(c, SF_COUNT_REDACTIONS, result->n_redacted);
    sf_counters_tenant(c, call->tenant, &tenant);
}

static void count_refused(struct sf_call *call, uint64_t n_spans)
{
    struct sf_tenant_counts tenant = {.n_refused = n_spans};
    sf_counters_tenant(call->service->counters, call->tenant, &tenant);
}

/* ---- from body to batch ---- */

static enum sf_err otlp_traces_find_tenant(struct sf_call *call, struct sf_store *store,
                                           uint32_t *out, struct sf_why *why)
{
    uint32_t tenants[SF_TENANTS_MAX] = {0};
    size_t n = 0;
    enum sf_err err = sf_tenant_find(store, call->tenant, true, tenants, &n, why);
    if (!err)
        *out = tenants[0];
    return err;
}

/* What the spans of one request add to the metrics generated from spans. */
struct sums {
    const struct sf_service *service;
    sf_str tenant; /* of the call; valid only while the call exists */
    struct sf_arena *req;
    int64_t now_ns;
    bool has_failed; /* no memory: nothing of this request is counted */
    struct sf_span_tally tally;
    struct sf_graph_tally graph;
    struct sf_target_tally targets;
};

static void otlp_traces_sum_up(void *arg, const struct sf_span_batch *spans)
{
    struct sums *sums = arg;
    const struct sf_service *s = sums->service;
    bool is_ok = !sums->has_failed;
    if (s->recent)
        sf_recent_traces_note(s->recent, sums->tenant, spans);
    if (is_ok && s->has_span_metrics)
        is_ok = sf_span_metrics_tally_add(s->span_metrics, spans, sums->now_ns, sums->req,
                                          &sums->tally);
    if (is_ok && s->service_graph)
        is_ok = sf_service_graph_tally(s->service_graph, spans, sums->now_ns, sums->req,
                                       &sums->graph);
    if (is_ok && s->target_info)
        is_ok = sf_target_info_tally_add(&sums->targets, spans, sums->now_ns, sums->req);
    sums->has_failed = !is_ok;
}

/* Called once the store has the spans: adds them to the metrics. */
static void otlp_traces_add_sums(const struct sums *sums, sf_str tenant)
{
    const struct sf_service *s = sums->service;
    if (sums->has_failed)
        return;
    if (s->has_span_metrics)
        sf_span_metrics_add(s->span_metrics, tenant, &sums->tally, sums->now_ns);
    if (s->service_graph)
        sf_service_graph_add(s->service_graph, tenant, &sums->graph, sums->now_ns);
    if (s->target_info)
        sf_target_info_add(s->target_info, tenant, &sums->targets, sums->now_ns);
}

static bool is_json_type(sf_str type)
{
    return sf_str_ieq(type, SF_STR("application/json"));
}

/* Translates a Zipkin body, as it was sent, to OTLP. */
static enum sf_err translate(struct sf_call *call, struct sf_worker *worker, size_t max_len,
                             struct sf_buf *body, struct sf_why *why)
{
    const struct sf_request *r = call->request;
    struct sf_buf room = {0}, otlp = {.max = 2 * max_len};
    sf_str plain = sf_buf_str(body);
    enum sf_err err = sf_plain_body_inflate(worker, r->coding, max_len, &room, &plain, why);
    if (!err)
        err = sf_zipkin_to_otlp(sf_str_bytes(plain), is_json_type(r->content_type), r->recv_ns,
                                &otlp, why);
    sf_buf_done(&room);
    if (err) {
        sf_buf_done(&otlp);
        return err;
    }
    sf_buf_done(body);
    *body = otlp;
    return SF_OK;
}

struct taking { /* one request while it is decoded */
    struct sf_call *call;
    struct sf_worker *worker;
    uint32_t tenant;
    struct sums sums;
    struct sf_admission admission;
    struct sf_intake_result result;
};

/* One attempt to decode the request; it may be called again after a failure. */
static enum sf_err otlp_traces_take_in(void *arg, size_t max_len, struct sf_why *why)
{
    struct taking *t = arg;
    struct sf_call *call = t->call;
    struct sf_intake_config config = call->service->intake;
    const struct sf_request *r = call->request;
    struct sf_buf body = {0};
    struct sf_intake_request in = {.kind = call->form == SF_FORM_OTLP_JSON ? SF_LOG_OTLP_TRACES_JSON
                                                                           : SF_LOG_OTLP_TRACES_PB,
                                   .coding = r->coding == SF_CODING_GZIP   ? SF_LOG_GZIP
                                             : r->coding == SF_CODING_ZSTD ? SF_LOG_ZSTD
                                                                           : SF_LOG_PLAIN,
                                   .is_zlib = r->coding == SF_CODING_DEFLATE,
                                   .tenant = t->tenant,
                                   .recv_ns = r->recv_ns,
                                   .body = &body};
    config.tools = t->worker->tools;
    config.see = otlp_traces_sum_up;
    config.see_arg = &t->sums;
    config.sift = sf_admission_sift;
    config.sift_arg = &t->admission;
    config.max_inflated_len = max_len;
    sf_arena_reset(&t->worker->arena);
    sf_admission_begin(&t->admission, call, &t->worker->arena);
    t->sums = (struct sums){.service = call->service,
                            .tenant = call->tenant,
                            .req = &t->worker->arena,
                            .now_ns = sf_clock_wall_ns()};
    enum sf_err err = otlp_traces_read_body(call, &body, why);
    if (!err && is_zipkin(call)) {
        err = translate(call, t->worker, max_len, &body, why);
        in.kind = SF_LOG_OTLP_TRACES_PB;
        in.coding = SF_LOG_PLAIN;
        in.is_zlib = false;
        config.max_inflated_len = 0;
    }
    if (!err)
        err = sf_intake_traces(&config, &in, &t->result, why);
    if (err && r->coding == SF_CODING_NONE && !is_zipkin(call))
        sf_exchange_body_give(call->ex, &body);
    sf_buf_done(&body);
    return err;
}

/* On the log's thread: the batch is durable, or never will be. */
static void otlp_traces_on_durable(struct sf_ticket *t)
{
    struct sf_call *call = (struct sf_call *)(void *)((char *)t - offsetof(struct sf_call, ticket));
    if (t->result) {
        count_refused(call, call->n_spans);
        sf_call_fail(call, t->result, &t->why);
    } else {
        sf_counters_add(call->service->counters, SF_COUNT_SPANS_ACKED, call->n_spans);
    }
    sf_call_finish(call);
}

/* Gives the batch to the store. False: the store has it and the call may be gone already. */
static bool otlp_traces_give_to_store(struct sf_call *call, struct sf_worker *worker,
                                      struct sf_batch *batch, struct sums *sums,
                                      struct sf_admission *admission)
{
    struct sf_service *s = call->service;
    struct sf_why why = {0};
    char tenant_room[SF_LIMIT_TENANT_LEN];
    sf_str tenant = SF_STR_NONE;
    if (batch->spans)
        otlp_traces_sum_up(sums, batch->spans);
    if (s->has_tenancy) { /* the tenant header is freed with the call, which may end before this
                           * function */
        memcpy(tenant_room, call->tenant.p, call->tenant.len);
        tenant = (sf_str){tenant_room, call->tenant.len};
    }
    call->ticket.done = otlp_traces_on_durable;
    enum sf_err err = sf_ingest_wait_append(call, worker->number, &batch, &why);
    if (!err) {
        otlp_traces_add_sums(sums, tenant);
        return false;
    }
    sf_admission_refund(admission, call->n_spans);
    sf_batch_free(batch);
    count_refused(call, call->n_spans);
    if (err == SF_ERR_BUSY || err == SF_ERR_FULL)
        sf_service_count_shed(s, call->tenant, SF_SHED_SPANS);
    return sf_call_fail(call, err, &why);
}

/* The spans of services that are over their rates: counted and reported or, if no other spans are
 * left and the response cannot carry a count, a reason to refuse the whole request. True: the
 * answer is filled. */
static bool otlp_traces_refuse_services(struct sf_call *call, struct sf_admission *admission,
                                        struct sf_intake_result *result)
{
    struct sf_otlp_rejects *r = &result->rejects;
    struct sf_tenant_counts counts = {0};
    struct sf_why why;
    if (!result->n_sifted)
        return false;
    if (!result->batch || is_zipkin(call)) {
        sf_batch_free(result->batch);
        result->batch = NULL;
        return sf_admission_refuse(admission);
    }
    sf_quota_explain(&admission->first, call->tenant, admission->first_service, &why);
    r->n_rejected += result->n_sifted;
    if (!r->first[0])
        snprintf(r->first, sizeof(r->first), "%.159s", why.text);
    counts.n_limited[admission->first.key == SF_QUOTA_BYTES_RATE ? SF_TENANT_LIMIT_BYTES
                                                                 : SF_TENANT_LIMIT_SPANS] = 1;
    sf_counters_tenant(call->service->counters, call->tenant, &counts);
    return false;
}

static void otlp_traces_answer(struct sf_call *call, const struct sf_otlp_rejects *rejects)
{
    bool is_json = call->form == SF_FORM_OTLP_JSON;
    if (is_zipkin(call)) {
        sf_call_ok(call, "text/plain");
        call->response->status = 202;
        return;
    }
    sf_call_ok(call, call->form == SF_FORM_GRPC ? "application/grpc"
                     : is_json                  ? "application/json"
                                                : "application/x-protobuf");
    sf_otlp_traces_answer(rejects, is_json, &call->response->body);
}

bool sf_otlp_traces_take_zipkin(struct sf_call *call, struct sf_worker *worker)
{
    sf_str type = call->request->content_type;
    struct sf_why why;
    if (is_json_type(type) || sf_str_ieq(type, SF_STR("application/x-protobuf")))
        return sf_otlp_traces_export(call, worker);
    sf_fail(&why, SF_ERR_UNSUPPORTED,
            "Zipkin: spans of version 2 as application/json or application/x-protobuf are read, "
            "not %s%.*s",
            type.len ? "" : "a body without a type", SF_STR_ARG(type));
    sf_status_answer(call->response, call->form, sf_status_content_type, why.text);
    return true;
}

bool sf_otlp_traces_export(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_store *store = atomic_load(&call->service->store);
    struct taking t = {.call = call, .worker = worker};
    struct sf_intake_result *result = &t.result;
    enum sf_large_turn turn = SF_LARGE_TURN_MINE;
    struct sf_why why = {0};
    enum sf_err err = SF_OK;
    if (!sf_admission_check_tenant(call, true)) { /* other requests may have used up the rate since
                                                   * the headers were checked */
        sf_large_turn_pass(call);
        return true;
    }
    err = otlp_traces_find_tenant(call, store, &t.tenant, &why);
    if (err) {
        sf_large_turn_pass(call);
        return sf_call_fail(call, err, &why);
    }
    turn = sf_large_turn_run(call, worker, otlp_traces_take_in, &t, &err, &why);
    if (turn != SF_LARGE_TURN_MINE)
        return turn == SF_LARGE_TURN_REFUSED;
    if (err == SF_ERR_BUSY)
        sf_service_count_shed(call->service, call->tenant, SF_SHED_SPANS);
    if (err)
        return sf_call_fail(call, err, &why);
    if (otlp_traces_refuse_services(call, &t.admission, result))
        return true;
    count_result(call, result);
    otlp_traces_answer(call, &result->rejects);
    if (!result->batch)
        return true;
    call->n_spans = result->n_spans;
    sf_admission_charge(&t.admission, result->n_spans, result->plain_len);
    return otlp_traces_give_to_store(call, worker, result->batch, &t.sums, &t.admission);
}
