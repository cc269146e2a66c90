/* alert_rule_spans.h - fields of rules about requests and services: change, ledger, finding,
 * coverage. Private to alert_rule.c. */
#pragma once
#include "alert/alert_rule.h"

/* Sets a field such as "change.q". *out_is: the path is one of these. INPUT. */
enum sf_err sf_alert_rule_spans_set(struct sf_alert_rule *rule, sf_str path, sf_str val,
                                    bool *out_is, struct sf_why *why);
enum sf_err sf_alert_rule_spans_check(struct sf_alert_rules *r, struct sf_alert_rule *rule,
                                      struct sf_why *why);
void sf_alert_rule_spans_print(const struct sf_alert_rule *rule, struct sf_buf *out);
