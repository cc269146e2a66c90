#include "serve/otlp/other_signals.h"

#include "base/limits.h"
#include "decode/otlp/otlp_count.h"
#include "serve/otlp/otlp_partial.h"
#include "serve/plain_body.h"

static const struct signal {
    enum sf_otlp_signal kind;
    enum sf_count count;
    const char *word, *member, *message;
} metrics = {SF_OTLP_METRICS, SF_COUNT_OTHER_METRICS, "metrics", "rejectedDataPoints",
             "spanflame stores traces and profiles; metrics are discarded"},
  logs = {SF_OTLP_LOGS, SF_COUNT_OTHER_LOGS, "logs", "rejectedLogRecords",
          "spanflame stores traces and profiles; logs are discarded"};

struct counting {
    struct sf_call *call;
    struct sf_worker *worker;
    enum sf_otlp_signal kind;
    uint64_t n;
};

static enum sf_err count_items(void *arg, size_t max_len, struct sf_why *why)
{
    struct counting *c = arg;
    struct sf_buf wire = {0}, plain = {0};
    enum sf_err err = sf_plain_body_read(c->call, &wire, why);
    sf_str body = sf_buf_str(&wire);
    if (!err)
        err = sf_plain_body_inflate(c->worker, c->call->request->coding, max_len, &plain, &body,
                                    why);
    if (!err && body.len) { /* an empty request is a message without items */
        err = c->call->form == SF_FORM_OTLP_JSON
                  ? sf_otlp_count_json(c->kind, sf_str_bytes(body), &c->worker->arena, &c->n, why)
                  : sf_otlp_count_pb(c->kind, sf_str_bytes(body), &c->n, why);
    }
    sf_buf_done(&wire);
    sf_buf_done(&plain);
    return err;
}

static bool other_signals_refuse(struct sf_call *call, const struct signal *signal)
{
    struct sf_why why;
    sf_counters_add(call->service->counters, signal->count, 1);
    sf_fail(&why, SF_OK, "OTLP %s are not stored by this server; send them elsewhere",
            signal->word);
    return sf_call_refuse(call, SF_COUNT_REJECT_NO_ROUTE, sf_status_no_route, why.text);
}

/* Discarding is answered with success, or senders would retry; the answer says how many items were
 * dropped and why. */
static bool other_signals_drop(struct sf_call *call, struct sf_worker *worker,
                               const struct signal *signal, atomic_bool *said)
{
    struct sf_service *s = call->service;
    struct counting c = {.call = call, .worker = worker, .kind = signal->kind};
    struct sf_why why = {0};
    enum sf_err err = SF_OK;
    if (s->rejects_other_signals)
        return other_signals_refuse(call, signal);
    switch (sf_large_turn_run(call, worker, count_items, &c, &err, &why)) {
    case SF_LARGE_TURN_PARKED: return false;
    case SF_LARGE_TURN_REFUSED: return true;
    case SF_LARGE_TURN_MINE: break;
    }
    sf_counters_add(s->counters, signal->count, 1);
    if (err)
        return sf_call_fail(call, err, &why);
    if (!atomic_exchange(said, true))
        sf_service_say(s, SF_SAY_INFO,
                       "serve: OTLP %s are accepted and discarded; this is logged once "
                       "(other_signals: reject refuses them)",
                       signal->word);
    sf_otlp_partial_answer(call, signal->member, c.n,
                           c.n ? sf_str_from(signal->message) : SF_STR_NONE);
    return true;
}

bool sf_other_signals_metrics(struct sf_call *call, struct sf_worker *worker)
{
    return other_signals_drop(call, worker, &metrics, &call->service->said_metrics);
}

bool sf_other_signals_logs(struct sf_call *call, struct sf_worker *worker)
{
    return other_signals_drop(call, worker, &logs, &call->service->said_logs);
}
