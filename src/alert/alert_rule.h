/* alert_rule.h - the configured rules and receivers.
 *
 * A set is filled field by field while the configuration is read, checked rule by rule, and is
 * immutable afterwards: threads share it by reference count. */
#pragma once
#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"

enum sf_alert_kind {
    SF_ALERT_NO_KIND,
    SF_ALERT_TRACEQL,
    SF_ALERT_SHARE,
    SF_ALERT_AMOUNT,
    SF_ALERT_CHANGE,
    SF_ALERT_LEDGER,
    SF_ALERT_FINDING,
    SF_ALERT_COVERAGE,
    SF_ALERT_WATCH
};
enum sf_alert_against { SF_ALERT_BEFORE, SF_ALERT_YESTERDAY };
enum sf_alert_test { SF_ALERT_NO_TEST, SF_ALERT_ABOVE, SF_ALERT_BELOW, SF_ALERT_ABSENT };
enum sf_alert_unit { SF_ALERT_NUMBER, SF_ALERT_PERCENT, SF_ALERT_TIME, SF_ALERT_SIZE };

struct sf_alert_pair {
    sf_str key, val;
};

struct sf_alert_pairs {
    struct sf_alert_pair list[SF_LIMIT_ALERT_LABELS];
    size_t n;
};

struct sf_alert_rule {
    enum sf_alert_kind kind;
    enum sf_alert_test test;
    enum sf_alert_unit unit; /* of the threshold */
    double threshold;        /* percent as a share of 1, times in ns, sizes in bytes */
    sf_str name, tenant;
    sf_str where; /* FILE:LINE; empty: built in */
    sf_str query; /* of TRACEQL, with its metrics function */
    sf_str spans; /* and without it, or what others ask of; empty: cannot be distinguished */
    sf_str selector, type;           /* of SHARE and AMOUNT; type may be empty */
    sf_str function, package, label; /* one of them: a pattern, a pattern, env=prod */
    sf_str service; /* that the selector names, if it does; of FINDING and COVERAGE: itself */
    sf_str part; /* of LEDGER; of CHANGE what is measured; of FINDING its kind; of COVERAGE what */
    sf_str by, against_text;       /* of CHANGE */
    enum sf_alert_against against; /* likewise, without `by` */
    bool is_significant;           /* likewise: only what is not a chance */
    bool has_window;
    bool is_each;      /* of the built-in ones: evaluated for each tenant, `tenant` is empty */
    bool names_tenant; /* such a one, while it is: its alerts have the label tenant */
    sf_str threshold_text;
    int64_t for_ns, window_ns;
    sf_str capture_service, capture_types; /* what is captured when it begins to fire */
    uint32_t capture_s, capture_hz;        /* 0: nothing is */
    struct sf_alert_pairs labels, annotations;
};

struct sf_alert_rules {
    struct sf_arena arena; /* where all of it lives */
    atomic_uint n_users;
    struct sf_alert_rule *list; /* space for SF_LIMIT_ALERT_RULES */
    size_t n;
    int64_t interval_ns;
    sf_str url; /* of this server, for links; may be empty */
    const char **alertmanagers, **webhooks;
    size_t n_alertmanagers, n_webhooks;
};

struct sf_alert_rules *sf_alert_rules_new(void); /* with one user; NULL: no memory */
struct sf_alert_rules *sf_alert_rules_share(struct sf_alert_rules *r);
void sf_alert_rules_free(struct sf_alert_rules *r); /* by its last user; NULL is fine */

/* One more rule, empty. LIMIT. */
enum sf_err sf_alert_rules_add(struct sf_alert_rules *r, struct sf_alert_rule **out,
                               struct sf_why *why);
/* One field: "name", "share.selector", "labels.team". INPUT names the nearest one. */
enum sf_err sf_alert_rule_set(struct sf_alert_rules *r, struct sf_alert_rule *rule, sf_str path,
                              sf_str val, struct sf_why *why);
/* The whole rule, when its last field is set: queries, patterns and selectors are tried. */
enum sf_err sf_alert_rule_check(struct sf_alert_rules *r, struct sf_alert_rule *rule,
                                struct sf_why *why);
/* Receivers; the texts are copied. */
enum sf_err sf_alert_rules_receivers(struct sf_alert_rules *r, const char *const *alertmanagers,
                                     size_t n_alertmanagers, const char *const *webhooks,
                                     size_t n_webhooks, const char *url, struct sf_why *why);
/* The condition as one line: "{ status = error } | rate() above 1". */
void sf_alert_rule_print(const struct sf_alert_rule *rule, struct sf_buf *out);
/* Is it true of this value? */
bool sf_alert_rule_holds(const struct sf_alert_rule *rule, double value);
/* {{ $value }} and {{ $labels.x }} replaced; what is no such word stays as it is. `labels` are the
 * alert's. */
void sf_alert_rule_text_fill(sf_str text, const struct sf_alert_pair *labels, size_t n,
                             double value, struct sf_buf *out);
/* A name that Prometheus takes for a label: others' characters become underscores. */
void sf_alert_rule_label_name(sf_str name, struct sf_buf *out);
/* Are its values estimates? Quantiles are: they are read off buckets. Of a rule that is gone by its
 * name: false. */
bool sf_alert_rule_is_estimate(const struct sf_alert_rule *rule);
bool sf_alert_rules_is_estimate(const struct sf_alert_rules *rules, sf_str name);
