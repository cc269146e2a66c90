#include "serve/otlp/other_signals.h"

static bool drop(struct sf_call *call, enum sf_count count, atomic_bool *said, const char *signal)
{
    struct sf_service *s = call->service;
    sf_counters_add(s->counters, count, 1);
    if (s->rejects_other_signals) {
        struct sf_why why;
        sf_fail(&why, SF_OK, "OTLP %s are not kept here; send them elsewhere", signal);
        return sf_call_refuse(call, SF_COUNT_REJECT_NO_ROUTE, sf_status_no_route, why.text);
    }
    if (!atomic_exchange(said, true))
        sf_service_say(s, SF_SAY_INFO,
                       "serve: OTLP %s are accepted and discarded; this is said once "
                       "(other_signals: reject refuses them)",
                       signal);
    bool is_json = call->form == SF_FORM_OTLP_JSON;
    sf_call_ok(call, call->form == SF_FORM_GRPC ? "application/grpc"
                     : is_json                  ? "application/json"
                                                : "application/x-protobuf");
    if (is_json)
        sf_buf_add(&call->response->body, "{}", 2);
    return true;
}

bool sf_other_signals_metrics(struct sf_call *call, __attribute__((unused)) struct sf_worker *w)
{
    return drop(call, SF_COUNT_OTHER_METRICS, &call->service->said_metrics, "metrics");
}

bool sf_other_signals_logs(struct sf_call *call, __attribute__((unused)) struct sf_worker *w)
{
    return drop(call, SF_COUNT_OTHER_LOGS, &call->service->said_logs, "logs");
}
