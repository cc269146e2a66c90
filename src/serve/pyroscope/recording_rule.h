/* recording_rule.h - one recording rule of settings.v1.RecordingRulesService: which profiles are
 * summed, by which labels, under the name of which metric. */
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
    sf_str matchers[SF_RULE_MATCHERS]; /* as they were sent: clients read them back */
    sf_str groups[SF_RULE_GROUPS];     /* labels of profiles that the series keep */
    struct sf_label labels[SF_RULE_LABELS];
    size_t n_matchers, n_groups, n_labels;
    uint64_t n_unknown; /* fields of the request that are not known here */
    sf_str function;    /* only stacks with this function; empty: all */
    int64_t generation; /* counts the changes of the rule, from 1 */
    int64_t since_ns;   /* profiles from here on are summed */
};

/* The request of an upsert. Texts are in `req` or borrowed from the body. INPUT, LIMIT. */
enum sf_err sf_recording_rule_read(sf_str body, bool is_json, struct sf_arena *req,
                                   struct sf_recording_rule *out, struct sf_why *why);
/* All that is wrong with it, in Pyroscope's words. INPUT. `id` may be empty. */
enum sf_err sf_recording_rule_check(const struct sf_recording_rule *r, struct sf_arena scratch,
                                    struct sf_why *why);
/* All matchers together, in `req`. */
enum sf_err sf_recording_rule_selector(const struct sf_recording_rule *r, struct sf_arena *req,
                                       struct sf_label_selector *out, struct sf_why *why);
/* Do two rules sum the same? Names, labels and ids do not matter. */
bool sf_recording_rule_is_same_sum(const struct sf_recording_rule *a,
                                   const struct sf_recording_rule *b);
/* Its fields, as the protocol has them. */
void sf_recording_rule_write(const struct sf_recording_rule *r, struct sf_arena scratch,
                             struct sf_message *m);
/* A line of the file of rules. */
void sf_recording_rule_add_line(const struct sf_recording_rule *r, struct sf_arena scratch,
                                struct sf_buf *out);
bool sf_recording_rule_read_line(sf_str line, struct sf_arena *req, struct sf_recording_rule *out);
