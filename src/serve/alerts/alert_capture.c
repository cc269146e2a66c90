#include "serve/alerts/alert_capture.h"

#include <stdio.h>

#include "base/time_unit.h"
#include "serve/own/control.h"
#include "wire/json.h"

enum { ROOM = 256 << 10 };

static sf_str alert_capture_service_of(const struct sf_alert_rule *rule,
                                       const struct sf_alert *alert, struct sf_arena *req)
{
    static const char *const labels[] = {"service", "resource_service_name", "service_name"};
    sf_str service = rule->capture_service.len ? rule->capture_service : rule->service;
    for (size_t i = 0; !service.len && i < 3; i++)
        (void)sf_alert_book_label(alert, sf_str_from(labels[i]), req, &service);
    return service;
}

enum sf_err sf_alert_capture(struct sf_service *s, const struct sf_alert_rule *rule,
                             const struct sf_alert *alert, int64_t now_ns, uint64_t *out_id,
                             struct sf_why *why)
{
    struct sf_capture capture = {.seconds = rule->capture_s, .rate_hz = rule->capture_hz};
    struct sf_control_change change = {.time_ms = now_ns / SF_NS_PER_MS};
    struct sf_arena room;
    sf_str service;
    enum sf_err err;
    if (!s->control_docs)
        return sf_fail(why, SF_ERR_NOT_FOUND, "profiling.control is off");
    if (!sf_arena_init(&room, ROOM))
        return sf_no_memory(why, "a capture");
    service = alert_capture_service_of(rule, alert, &room);
    err = service.len
              ? sf_control_set_target_make(rule->tenant, service, SF_STR("*"), &capture.target, why)
              : sf_fail(why, SF_ERR_NOT_FOUND, "neither rule nor alert names a service");
    sf_arena_done(&room);
    snprintf(capture.types, sizeof(capture.types), "%.*s", SF_STR_ARG(rule->capture_types));
    if (!err)
        err = sf_control_capture(s->control_docs, &capture, why);
    if (err)
        return err;
    *out_id = capture.id;
    change.target = capture.target;
    snprintf(change.who, sizeof(change.who), "alert %.*s",
             SF_STR_ARG(sf_str_part(rule->name, 0, 50)));
    snprintf(change.what, sizeof(change.what), "capture %s at %u Hz for %u s", capture.types,
             capture.rate_hz, capture.seconds);
    return sf_control_change(s->control_docs, &change, NULL, false, why);
}
