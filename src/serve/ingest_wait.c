#include "serve/ingest_wait.h"

#include "base/limits.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "serve/otlp/otlp_traces.h"

bool sf_ingest_wait_is_spans(const struct sf_route *route)
{
    return route->handle == sf_otlp_traces_export || route->handle == sf_otlp_traces_take_zipkin;
}

static enum sf_pressure store_pressure(const struct sf_service *s, bool *out_is_brief)
{
    struct sf_store *store = atomic_load(&s->store);
    *out_is_brief = false;
    return store ? store->ops->pressure(store, out_is_brief) : SF_PRESSURE_NONE;
}

bool sf_ingest_wait_may(const struct sf_call *call)
{
    size_t depth = sf_queue_depth(call->service->ingest);
    bool is_brief;
    (void)store_pressure(call->service, &is_brief);
    /* Half of the queue is for spans alone, which must not be refused because of profiles. */
    return is_brief && depth < (sf_ingest_wait_is_spans(call->route) ? SF_LIMIT_INGEST_QUEUE
                                                                     : SF_LIMIT_INGEST_QUEUE / 2);
}

static bool is_stopping(const struct sf_service *s)
{
    return atomic_load(&s->state) == SF_SERVICE_STOPPING;
}

/* Whether a request may wait longer; then 1 ms has passed. */
static bool has_waited(const struct sf_call *call)
{
    int64_t most_ms = sf_ingest_wait_is_spans(call->route) ? SF_LIMIT_SPANS_WAIT_MS
                                                           : SF_LIMIT_PROFILES_WAIT_MS;
    if (sf_clock_mono_ns() - call->whole_ns >= most_ms * SF_NS_PER_MS ||
        atomic_load(sf_exchange_cancel(call->ex)))
        return false;
    sf_clock_sleep_ms(1);
    return true;
}

bool sf_ingest_wait_turn(const struct sf_call *call)
{
    return !is_stopping(call->service) && has_waited(call);
}

enum sf_err sf_ingest_wait_append(struct sf_call *call, unsigned writer, struct sf_batch **give,
                                  struct sf_why *why)
{
    struct sf_store *store = atomic_load(&call->service->store);
    bool is_brief;
    for (;;) {
        enum sf_err err = store->ops->append(store, writer, give, &call->ticket, why);
        if (err != SF_ERR_BUSY) /* when it was taken, the call may be gone */
            return err;
        (void)store_pressure(call->service, &is_brief);
        if (!is_brief || !sf_ingest_wait_turn(call))
            return err;
    }
}

enum sf_ingest_wait sf_ingest_wait(struct sf_call *call)
{
    struct sf_service *s = call->service;
    bool is_spans = sf_ingest_wait_is_spans(call->route), is_brief;
    enum sf_pressure level = store_pressure(s, &is_brief);
    /* A waiting profile keeps its detail rows; load shedding affects spans only at a higher
     * level. */
    if (!is_brief || call->has_large_turn || is_stopping(s) ||
        level < (is_spans ? SF_PRESSURE_SPANS : SF_PRESSURE_BASELINE))
        return SF_INGEST_WAIT_OVER;
    if (has_waited(call) && !sf_queue_give(s->ingest, call->ex))
        return SF_INGEST_WAIT_LONGER;
    if (level < (is_spans ? SF_PRESSURE_SPANS : SF_PRESSURE_PROFILES))
        return SF_INGEST_WAIT_OVER;
    sf_service_count_shed(s, call->tenant, is_spans ? SF_SHED_SPANS : SF_SHED_PROFILES);
    sf_call_refuse(call, SF_COUNT_REJECT_PRESSURE, sf_status_overloaded,
                   is_spans
                       ? "the server is under load; retry"
                       : "the server is under load and accepts no profiles at the moment; retry");
    return SF_INGEST_WAIT_IN_VAIN;
}
