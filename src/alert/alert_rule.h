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
    enum sf_alert_unit unit; /* unit of the threshold */
    double threshold;        /* percent as a share of 1, times in ns, sizes in bytes */
    sf_str name, tenant;
    sf_str where; /* FILE:LINE; empty: built in */
    sf_str query; /* of TRACEQL: the query with its metrics function */
    sf_str spans; /* the query without it, or the spans of other kinds; empty: spans cannot be
                   * selected */
    sf_str selector, type;           /* of SHARE and AMOUNT; type may be empty */
    sf_str function, package, label; /* one of them is set: a pattern, a pattern, env=prod */
    sf_str service; /* the service in the selector, if any; of FINDING and COVERAGE: the service */
    sf_str part; /* of LEDGER: the part; of CHANGE: the measure; of FINDING: its kind; of COVERAGE:
                  * the measure */
    sf_str by, against_text;       /* of CHANGE: the attribute with versions; the text of
                                    * `against` */
    enum sf_alert_against against; /* of CHANGE without `by`: the earlier time to compare with */
    bool is_significant;           /* of CHANGE: only significant differences */
    bool has_window;
    bool is_each;      /* built-in rule that is evaluated for each tenant; `tenant` is empty */
    bool names_tenant; /* such a rule while it is evaluated: its alerts have the label tenant */
    sf_str threshold_text;
    int64_t for_ns, window_ns;
    sf_str capture_service, capture_types; /* the capture to take when it begins to fire */
    uint32_t capture_s, capture_hz;        /* 0: nothing is */
    struct sf_alert_pairs labels, annotations;
};

struct sf_alert_rules {
    struct sf_arena arena; /* memory of all rules */
    atomic_uint n_users;
    struct sf_alert_rule *list; /* space for SF_LIMIT_ALERT_RULES */
    size_t n;
    int64_t interval_ns;
    sf_str url; /* external URL of this server, for links; may be empty */
    const char **alertmanagers, **webhooks;
    size_t n_alertmanagers, n_webhooks;
};

struct sf_alert_rules *sf_alert_rules_new(void); /* with one reference; NULL: no memory */
struct sf_alert_rules *sf_alert_rules_share(struct sf_alert_rules *r);
void sf_alert_rules_free(struct sf_alert_rules *r); /* drops a reference, the last frees; NULL is
                                                     * fine */

/* Adds an empty rule. LIMIT. */
enum sf_err sf_alert_rules_add(struct sf_alert_rules *r, struct sf_alert_rule **out,
                               struct sf_why *why);
/* Sets one field: "name", "share.selector", "labels.team". INPUT suggests the nearest name. */
enum sf_err sf_alert_rule_set(struct sf_alert_rules *r, struct sf_alert_rule *rule, sf_str path,
                              sf_str val, struct sf_why *why);
/* To be called after the last field is set: checks the whole rule with its queries, patterns and
 * selectors. */
enum sf_err sf_alert_rule_check(struct sf_alert_rules *r, struct sf_alert_rule *rule,
                                struct sf_why *why);
/* Sets the receivers; the texts are copied. */
enum sf_err sf_alert_rules_receivers(struct sf_alert_rules *r, const char *const *alertmanagers,
                                     size_t n_alertmanagers, const char *const *webhooks,
                                     size_t n_webhooks, const char *url, struct sf_why *why);
/* The condition as one line: "{ status = error } | rate() above 1". */
void sf_alert_rule_print(const struct sf_alert_rule *rule, struct sf_buf *out);
/* Whether the condition is true for this value. */
bool sf_alert_rule_holds(const struct sf_alert_rule *rule, double value);
/* Replaces {{ $value }} and {{ $labels.x }}; other text is left unchanged. `labels` are the
 * alert's. */
void sf_alert_rule_text_fill(sf_str text, const struct sf_alert_pair *labels, size_t n,
                             double value, struct sf_buf *out);
/* Converts to a label name that Prometheus accepts: other characters become underscores. */
void sf_alert_rule_label_name(sf_str name, struct sf_buf *out);
/* Whether the rule's values are estimates, as quantiles are, which come from buckets. False for a
 * rule that no longer exists. */
bool sf_alert_rule_is_estimate(const struct sf_alert_rule *rule);
bool sf_alert_rules_is_estimate(const struct sf_alert_rules *rules, sf_str name);
