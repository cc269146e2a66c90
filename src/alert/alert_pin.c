#include "alert/alert_pin.h"

#include <stdlib.h>

#include "alert/alert_code.h"
#include "base/limits.h"
#include "base/time_unit.h"
#include "join/frame_spans.h"
#include "join/span_set.h"

enum { LOOKED_AT = 200 }; /* number of newest traces from which the slowest are taken */
#define MARK "alert: "

struct pick {
    sf_trace_id trace;
    int64_t start_ns;
};

static int64_t alert_pin_time_of(uint64_t ns)
{
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static uint32_t alert_pin_add(struct pick *list, uint32_t n, sf_trace_id trace, uint64_t start_ns)
{
    for (uint32_t i = 0; i < n; i++) {
        if (sf_trace_id_eq(list[i].trace, trace))
            return n;
    }
    if (n < SF_LIMIT_ALERT_PINS && !sf_trace_id_is_zero(trace))
        list[n++] = (struct pick){trace, alert_pin_time_of(start_ns)};
    return n;
}

static int slowest_first(const void *a, const void *b)
{
    const struct sf_set_span *x = a, *y = b;
    return x->duration_ns < y->duration_ns ? 1 : x->duration_ns > y->duration_ns ? -1 : 0;
}

static enum sf_err pick_spans(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                              struct pick *list, uint32_t *n, struct sf_why *why)
{
    struct sf_span_set set = {0};
    bool is_found = ask->rule->spans.len == 0 && ask->found_spans;
    struct sf_span_set_want want = {.query = is_found ? *ask->found_spans : ask->rule->spans,
                                    .from_ns = ask->at_ns - ask->rule->window_ns,
                                    .to_ns = ask->at_ns,
                                    .limit_traces = LOOKED_AT,
                                    .is_newest = true,
                                    .scratch = ask->scratch};
    enum sf_err err = sf_span_set_find(ask->store, &want, q, &set, why);
    if (err)
        return err;
    if (set.n)
        qsort(set.spans, set.n, sizeof(*set.spans), slowest_first);
    for (uint32_t i = 0; i < set.n; i++)
        *n = alert_pin_add(list, *n, set.spans[i].trace, set.spans[i].start_ns);
    return SF_OK;
}

static enum sf_err pick_by_function(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                                    struct pick *list, uint32_t *n, struct sf_why *why)
{
    struct sf_frame_spans found = {0};
    struct sf_frame_spans_want want = {.service = ask->rule->service,
                                       .type = ask->rule->type,
                                       .from_ns = ask->at_ns - ask->rule->window_ns,
                                       .to_ns = ask->at_ns,
                                       .limit = SF_LIMIT_ALERT_PINS};
    enum sf_err err = SF_OK;
    if (!ask->rule->function.len) /* for a package or a label: its hottest function */
        err = sf_alert_code_hottest(ask, q, &want.function, why);
    else if (!sf_arena_print(q->req, &want.pattern, ".*(%.*s).*", SF_STR_ARG(ask->rule->function)))
        err = sf_no_room(why, "the rule");
    if (err || (!want.function.len && !want.pattern.len))
        return err;
    err = sf_frame_spans_find(ask->store, &want, q, &found, why);
    for (uint32_t i = 0; !err && i < found.n; i++)
        *n = alert_pin_add(list, *n, found.list[i].trace, found.list[i].start_ns);
    return err;
}

static bool alert_pin_is_among(const struct sf_pin *pins, uint32_t n, sf_trace_id trace)
{
    for (uint32_t i = 0; i < n; i++) {
        if (sf_trace_id_eq(pins[i].trace, trace))
            return true;
    }
    return false;
}

static uint32_t room_for_alerts(const struct sf_pin *pins, uint32_t n)
{
    uint32_t n_own = 0;
    for (uint32_t i = 0; i < n; i++)
        n_own += sf_str_starts(pins[i].note, SF_STR(MARK));
    return n_own < SF_LIMIT_PINS / 2 ? SF_LIMIT_PINS / 2 - n_own : 0;
}

enum sf_err sf_alert_pin(const struct sf_alert_ask *ask, struct sf_query_ctx *q, uint32_t *out_n,
                         struct sf_why *why)
{
    struct pick list[SF_LIMIT_ALERT_PINS];
    const struct sf_pin *pins = NULL;
    uint32_t n = 0, n_pins = 0, room;
    sf_str note;
    enum sf_err err = SF_OK;
    *out_n = 0;
    if (ask->rule->test == SF_ALERT_ABSENT || q->n_tenants == 0 || !ask->store->ops->pin)
        return SF_OK;
    if (ask->rule->spans.len || (ask->found_spans && ask->found_spans->len))
        err = pick_spans(ask, q, list, &n, why);
    else if (ask->rule->selector.len)
        err = pick_by_function(ask, q, list, &n, why);
    if (!err && n)
        err = ask->store->ops->pins(ask->store, q, &pins, &n_pins, why);
    if (err || n == 0)
        return err == SF_ERR_NOT_FOUND ? SF_OK : err; /* no profile of that type */
    if (!sf_arena_print(q->req, &note, MARK "%.*s",
                        SF_STR_ARG(sf_str_part(ask->rule->name, 0, SF_LIMIT_PIN_NOTE_LEN - 10))))
        return sf_no_room(why, "the rule");
    room = room_for_alerts(pins, n_pins);
    for (uint32_t i = 0; !err && i < n && *out_n < room; i++) {
        struct sf_pin pin = {.tenant = q->tenants[0],
                             .trace = list[i].trace,
                             .created_ns = ask->at_ns,
                             .until_ns = ask->at_ns + SF_LIMIT_ALERT_PIN_DAYS * SF_NS_PER_DAY,
                             .start_ns = list[i].start_ns,
                             .note = note};
        if (alert_pin_is_among(pins, n_pins, pin.trace))
            continue;
        err = ask->store->ops->pin(ask->store, &pin, why);
        *out_n += !err;
    }
    return err;
}
