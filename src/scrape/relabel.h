/* relabel.h - changes the labels of a target by Prometheus' relabelling rules.
 *
 * Labels that begin with "__" are the target's address and metadata of discovery; rules may read
 * and write them, and they are not stored in series. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/limits.h"
#include "model/profile.h"
#include "regex/regex.h"

enum sf_relabel_action {
    SF_RELABEL_REPLACE,
    SF_RELABEL_KEEP,
    SF_RELABEL_DROP,
    SF_RELABEL_KEEP_EQUAL,
    SF_RELABEL_DROP_EQUAL,
    SF_RELABEL_MAP,        /* labelmap */
    SF_RELABEL_DROP_LABEL, /* labeldrop */
    SF_RELABEL_KEEP_LABEL, /* labelkeep */
    SF_RELABEL_LOWER,
    SF_RELABEL_UPPER,
    SF_RELABEL_HASH_MOD,
};

struct sf_relabel {
    sf_str sources[SF_LIMIT_SCRAPE_SOURCES];
    size_t n_sources;
    sf_str separator, pattern, target, replacement; /* as configured; check sets defaults */
    bool has_separator, has_replacement;
    uint64_t modulus; /* for hashmod; 0: not given */
    enum sf_relabel_action action;
    struct sf_regex *re; /* owned */
};

struct sf_label_set { /* unsorted; names are unique */
    struct sf_label list[SF_LIMIT_SCRAPE_LABELS];
    size_t n;
};

/* One field of a rule: source_labels (commas between them), separator, regex, target_label,
 * replacement, modulus, action. INPUT. */
enum sf_err sf_relabel_set(struct sf_relabel *r, sf_str key, sf_str val, struct sf_why *why);
enum sf_err sf_relabel_check(struct sf_relabel *r, struct sf_why *why); /* compiles its pattern */
void sf_relabel_done(struct sf_relabel *r);

sf_str sf_relabel_label_get(const struct sf_label_set *s, sf_str key); /* empty: missing */
/* An empty value removes the label. LIMIT: too many. */
enum sf_err sf_relabel_label_put(struct sf_label_set *s, sf_str key, sf_str val,
                                 struct sf_why *why);
/* Applies all rules in order; new texts are in `req`. *out_keeps: the target is kept. LIMIT: too
 * many labels, a text that is too long, or a pattern that takes too long. */
enum sf_err sf_relabel_run(const struct sf_relabel *rules, size_t n, struct sf_label_set *io,
                           struct sf_arena *req, struct sf_regex_scratch *scratch, bool *out_keeps,
                           struct sf_why *why);
