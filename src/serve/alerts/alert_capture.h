/* alert_capture.h - a profile that is taken because an alert begins to fire. */
#pragma once
#include "alert/alert_book.h"
#include "serve/service.h"

/* Requests a profile from the collectors of the rule's service, or of the alert's, and records that
 * in the log of changes. NOT_FOUND: none of them polls, or the service is not known. */
enum sf_err sf_alert_capture(struct sf_service *s, const struct sf_alert_rule *rule,
                             const struct sf_alert *alert, int64_t now_ns, uint64_t *out_id,
                             struct sf_why *why);
