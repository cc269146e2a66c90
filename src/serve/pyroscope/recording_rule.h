/* recording_rule.h - one recording rule of settings.v1.RecordingRulesService: the profiles to sum,
 * the labels to group by, and the name of the metric. */
#pragma once
#include "base/arena.h"
#include "model/profile.h"
#include "query/label_selector.h"
#include "wire/message.h"

enum {
    SF_RULE_MATCHERS = 32,
    SF_RULE_GROUPS = 10,
    SF_RULE_LABELS = 10,
    SF_RULE_ID_LEN = 64,
    SF_RULE_NAME_LEN = 128
};

struct sf_recording_rule {
    sf_str tenant, id, metric;
    sf_str matchers[SF_RULE_MATCHERS]; /* unchanged, because clients read them back */
    sf_str groups[SF_RULE_GROUPS];     /* labels of profiles to group by */
    struct sf_label labels[SF_RULE_LABELS];
    size_t n_matchers, n_groups, n_labels;
    uint64_t n_unknown; /* unknown fields of the request */
    sf_str function;    /* only stacks with this function; empty: all */
    int64_t generation; /* incremented by each change of the rule, from 1 */
    int64_t since_ns;   /* only profiles since this time are summed */
};

/* Reads the request of an upsert. Texts are in `req` or borrowed from the body. INPUT, LIMIT. */
enum sf_err sf_recording_rule_read(sf_str body, bool is_json, struct sf_arena *req,
                                   struct sf_recording_rule *out, struct sf_why *why);
/* Reports all errors of the rule, worded as in Pyroscope. INPUT. `id` may be empty. */
enum sf_err sf_recording_rule_check(const struct sf_recording_rule *r, struct sf_arena scratch,
                                    struct sf_why *why);
/* One selector with all matchers, in `req`. */
enum sf_err sf_recording_rule_selector(const struct sf_recording_rule *r, struct sf_arena *req,
                                       struct sf_label_selector *out, struct sf_why *why);
/* Whether two rules compute the same sum; names, labels and ids may differ. */
bool sf_recording_rule_is_same_sum(const struct sf_recording_rule *a,
                                   const struct sf_recording_rule *b);
/* Writes the rule's fields as defined by the protocol. */
void sf_recording_rule_write(const struct sf_recording_rule *r, struct sf_arena scratch,
                             struct sf_message *m);
/* Appends the rule as a line of the file. */
void sf_recording_rule_add_line(const struct sf_recording_rule *r, struct sf_arena scratch,
                                struct sf_buf *out);
bool sf_recording_rule_read_line(sf_str line, struct sf_arena *req, struct sf_recording_rule *out);
