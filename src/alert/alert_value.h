/* alert_value.h - an alert being put together: labels of its rule and of what was found, and
 * annotations; templates are filled with what was found. */
#pragma once
#include "alert/alert_book.h"
#include "model/value.h"

enum { SF_ALERT_PAIRS = 64 };

struct sf_alert_found {
    struct sf_alert_pair pairs[SF_ALERT_PAIRS];
    size_t n, n_own; /* the first are the rule's: only they may be templates */
};

/* All are in `req`; false: it is full. */
bool sf_alert_value_found_begin(struct sf_alert_found *f, const struct sf_alert_rule *rule,
                                struct sf_arena *req);
/* The first of a name stays: the rule's own labels come before others. */
bool sf_alert_value_found_label(struct sf_alert_found *f, sf_str key, sf_str val,
                                struct sf_arena *req);
bool sf_alert_value_found_attr(struct sf_alert_found *f, sf_str key, struct sf_value v,
                               struct sf_arena *req);
/* LIMIT: `req` is full. */
enum sf_err sf_alert_value_found_finish(struct sf_alert_found *f, const struct sf_alert_rule *rule,
                                        double value, struct sf_arena *req,
                                        struct sf_alert_value *out, struct sf_why *why);
