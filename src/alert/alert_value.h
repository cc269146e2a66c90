/* alert_value.h - builds an alert from a rule and one result: labels of both, and annotations;
 * templates are filled from the result. */
#pragma once
#include "alert/alert_book.h"
#include "model/value.h"

enum { SF_ALERT_PAIRS = 64 };

struct sf_alert_found {
    struct sf_alert_pair pairs[SF_ALERT_PAIRS];
    size_t n, n_own; /* n_own: the first ones are the rule's; only these may be templates */
};

/* All texts are in `req`; false: it is full. */
bool sf_alert_value_found_begin(struct sf_alert_found *f, const struct sf_alert_rule *rule,
                                struct sf_arena *req);
/* Adds a label unless one of that name exists; the rule's own come first. */
bool sf_alert_value_found_label(struct sf_alert_found *f, sf_str key, sf_str val,
                                struct sf_arena *req);
bool sf_alert_value_found_attr(struct sf_alert_found *f, sf_str key, struct sf_value v,
                               struct sf_arena *req);
/* LIMIT: `req` is full. */
enum sf_err sf_alert_value_found_finish(struct sf_alert_found *f, const struct sf_alert_rule *rule,
                                        double value, struct sf_arena *req,
                                        struct sf_alert_value *out, struct sf_why *why);
