#include "serve/profile_take.h"
#include "serve/ingest_wait.h"

#include <stddef.h>
#include <stdio.h>

#include "exec/tenant.h"
#include "intake/series_cap.h"
#include "serve/admission.h"
#include "serve/grpc_web.h"
#include "serve/ingest_wait.h"
#include "serve/plain_body.h"

struct bodies { /* as sent, and without its content encoding */
    struct sf_buf wire, plain;
};

sf_str sf_profile_take_peer(const struct sf_call *call)
{
    sf_str text = sf_str_from(call->request->peer);
    size_t len = text.len;
    while (len && text.p[len - 1] != ':')
        len--;
    return len ? sf_str_part(text, 0, len - 1) : text;
}

/* Some clients set a content encoding for what is gzip anyway: decompress by the header first, then
 * by the content. */
static enum sf_err profile_take_unwrap(struct sf_profile_take *t, struct bodies *b,
                                       struct sf_why *why)
{
    enum sf_coding coding = t->call->request->coding;
    enum sf_err err = SF_OK;
    t->body = sf_buf_str(&b->wire);
    if (t->call->form == SF_FORM_GRPC_WEB)
        err = sf_grpc_web_message(t->call->request, &t->body, &coding, why);
    return err ? err
               : sf_plain_body_inflate(t->worker, coding, t->upload.max_len, &b->plain, &t->body,
                                       why);
}

struct trial {
    struct sf_profile_take *t;
    struct bodies *b;
    sf_profile_take_read *reader;
};

static enum sf_err profile_take_attempt(void *arg, size_t max_len, struct sf_why *why)
{
    struct trial *trial = arg;
    struct sf_profile_take *t = trial->t;
    const struct sf_service *s = t->call->service;
    enum sf_err err;
    sf_profile_upload_done(&t->upload);
    t->upload = (struct sf_profile_upload){
        .config = &s->intake,
        .tools = t->worker->tools,
        .cap = s->series_cap,
        .quota = s->quota,
        .tenant_name = t->call->tenant,
        .shed = {sf_service_pressure(t->call->service), s->recent, t->call->tenant},
        .tenant = t->upload.tenant,
        .recv_ns = t->call->request->recv_ns,
        .max_len = max_len};
    t->is_malformed = false;
    sf_arena_reset(&t->worker->arena);
    sf_buf_reset(&trial->b->wire);
    sf_buf_reset(&trial->b->plain);
    err = sf_plain_body_read(t->call, &trial->b->wire, why);
    if (!err)
        err = profile_take_unwrap(t, trial->b, why);
    return err ? err : trial->reader(t, why);
}

void sf_profile_take_count(struct sf_counters *c, const struct sf_profile_upload *u)
{
    const struct sf_intake_profiles_result *sum = &u->sum;
    const struct sf_profile_drops *d = &u->drops;
    sf_counters_add(c, SF_COUNT_PROFILES_RECEIVED, u->n);
    sf_counters_add(c, SF_COUNT_SAMPLES_RECEIVED, sum->n_samples + d->n_samples);
    sf_counters_add(c, SF_COUNT_SAMPLES_DROPPED, d->n_samples);
    sf_counters_add(c, SF_COUNT_SERIES_FOLDED, sum->n_folded);
    sf_counters_add(c, SF_COUNT_CUT_STACKS, d->n_cut_stacks);
    sf_counters_add(c, SF_COUNT_CUT_NAMES, d->n_cut_names);
    sf_counters_add(c, SF_COUNT_CUT_LABELS, sum->n_cut_labels + d->n_labels);
    sf_counters_add(c, SF_COUNT_CUT_TIMES, sum->n_retimed);
    sf_counters_add(c, SF_COUNT_REDACTIONS, sum->n_redacted);
}

static void tell_shed_of(struct sf_call *call, const char *what, uint64_t n, enum sf_shed shed)
{
    struct sf_tenant_counts counts = {0};
    char text[60];
    if (!n)
        return;
    counts.n_shed[shed] = 1;
    counts.n_shed_samples[shed] = n;
    sf_counters_tenant(call->service->counters, call->tenant, &counts);
    snprintf(text, sizeof(text), "%s=%llu", what, (unsigned long long)n);
    sf_response_header(call->response, "x-spanflame-shed", sf_str_from(text));
}

/* Counts the samples of an accepted profile that lost their detail, and reports them to the sender.
 * A profile that the store refuses is counted as a profile only. */
static void tell_shed(struct sf_call *call)
{
    tell_shed_of(call, "baseline_detail", call->shed.n_baseline, SF_SHED_BASELINE_DETAIL);
    tell_shed_of(call, "detail", call->shed.n_other, SF_SHED_DETAIL);
}

/* On the log's thread: the batch is durable, or never will be. */
static void profile_take_on_durable(struct sf_ticket *ticket)
{
    struct sf_call *call = (struct sf_call *)(void *)((char *)ticket -
                                                      offsetof(struct sf_call, ticket));
    if (ticket->result) {
        sf_call_fail(call, ticket->result, &ticket->why);
    } else {
        sf_counters_add(call->service->counters, SF_COUNT_SAMPLES_ACKED, call->n_spans);
        tell_shed(call);
    }
    sf_call_finish(call);
}

/* False: the store has it and the call may be gone already. */
static bool profile_take_give_to_store(struct sf_profile_take *t, struct sf_admission *admission)
{
    struct sf_batch *batch = sf_profile_upload_take(&t->upload);
    struct sf_call *call = t->call;
    struct sf_why why = {0};
    enum sf_err err;
    call->shed = t->upload.sum.shed;
    if (!batch) {
        tell_shed(call);
        return true;
    }
    call->n_spans = t->upload.sum.n_samples;
    call->ticket.done = profile_take_on_durable;
    err = sf_ingest_wait_append(call, t->worker->number, &batch, &why);
    if (!err)
        return false;
    sf_admission_refund(admission, 0);
    if (err == SF_ERR_BUSY || err == SF_ERR_FULL)
        sf_service_count_shed(call->service, call->tenant, SF_SHED_PROFILES);
    sf_batch_free(batch);
    return sf_call_fail(call, err, &why);
}

/* Services that are over their rates: the answer to a profile upload cannot say which of several
 * were left out, so the whole upload is refused. True: the answer is filled. */
static bool profile_take_refuse_services(struct sf_profile_take *t, struct sf_admission *admission)
{
    sf_admission_begin(admission, t->call, &t->worker->arena);
    for (const struct sf_batch *b = t->upload.first; b; b = b->next) {
        if (b->profiles && !sf_admission_add_profile(admission, b->profiles))
            return sf_admission_refuse(admission);
    }
    return false;
}

/* The text of a partial success. */
static void describe_shed(struct sf_profile_drops *d, const struct sf_shed_counts *shed)
{
    if (shed->n_baseline + shed->n_other && !d->first[0])
        snprintf(d->first, sizeof(d->first),
                 "%llu samples were stored without their span ids and times: the server is under "
                 "load",
                 (unsigned long long)(shed->n_baseline + shed->n_other));
}

/* Refuses a new service of a tenant that has reached its limit of series, for the rest of the
 * hour. */
static void refuse_series(struct sf_profile_take *t)
{
    const struct sf_service *s = t->call->service;
    struct sf_quota_refusal r = {
        SF_QUOTA_SERIES, sf_quota_value(s->quota, t->call->tenant, SF_STR_NONE, SF_QUOTA_SERIES),
        sf_series_cap_wait_s(s->series_cap, t->call->request->recv_ns)};
    sf_admission_refuse_call(t->call, &r, SF_STR_NONE);
}

bool sf_profile_take_run(struct sf_call *call, struct sf_worker *worker,
                         sf_profile_take_read *reader, void (*answer)(struct sf_profile_take *t),
                         void (*refuse)(struct sf_profile_take *t, enum sf_err err,
                                        const struct sf_why *why))
{
    struct sf_store *store = atomic_load(&call->service->store);
    struct sf_profile_take t = {.call = call, .worker = worker};
    struct bodies b = {0};
    struct trial trial = {&t, &b, reader};
    struct sf_why why = {0};
    uint32_t tenants[SF_TENANTS_MAX] = {0};
    size_t n = 0;
    bool is_filled = true;
    struct sf_admission admission = {0};
    enum sf_large_turn turn = SF_LARGE_TURN_MINE;
    enum sf_err err = SF_OK;
    if (!sf_admission_check_tenant(call, false)) { /* other requests may have used up the rate since
                                                    * the headers were checked */
        sf_large_turn_pass(call);
        return true;
    }
    err = sf_tenant_find(store, call->tenant, true, tenants, &n, &why);
    t.upload.tenant = tenants[0];
    if (!err)
        turn = sf_large_turn_run(call, worker, profile_take_attempt, &trial, &err, &why);
    else
        sf_large_turn_pass(call);
    if (turn == SF_LARGE_TURN_PARKED) {
        is_filled = false;
    } else if (turn == SF_LARGE_TURN_MINE && err) {
        if (err == SF_ERR_BUSY && !t.upload.is_over_series)
            sf_service_count_shed(call->service, call->tenant,
                                  t.upload.sum.shed.is_of_request ? SF_SHED_DETAIL
                                                                  : SF_SHED_PROFILES);
        if (err == SF_ERR_BUSY && t.upload.is_over_series)
            refuse_series(&t);
        else if (refuse)
            refuse(&t, err, &why);
        else
            sf_call_fail(call, err, &why);
    } else if (turn == SF_LARGE_TURN_MINE && !profile_take_refuse_services(&t, &admission)) {
        sf_profile_take_count(call->service->counters, &t.upload);
        sf_call_ok(call, NULL);
        describe_shed(&t.upload.drops, &t.upload.sum.shed);
        if (answer)
            answer(&t);
        sf_admission_charge(&admission, 0, t.body.len);
        is_filled = profile_take_give_to_store(&t, &admission);
    }
    sf_profile_upload_done(&t.upload);
    sf_buf_done(&b.wire);
    sf_buf_done(&b.plain);
    return is_filled;
}
