/* recording_totals.h - the counters of recording rules, one for each rule and set of labels, and
 * their file.
 *
 * A counter is the sum up to a closed time plus the sum after it. Profiles may arrive late, so the
 * second sum is computed again in each pass; the first never changes. Both are read from the store,
 * which has every acknowledged profile: a server that crashed before the file was written computes
 * the same sums again. Not thread-safe: the owner locks. */
#pragma once
#include "meter/exposition.h"
#include "os/dir.h"
#include "serve/pyroscope/recording_rule.h"
#include "store/store.h"

struct sf_recording_series {
    uint8_t *labels; /* owned; names and values, each with its length before it */
    uint32_t labels_len;
    int64_t closed, open; /* sums before and after the closed time */
    int64_t shown;        /* value on /metrics: never decreases, also after erasures */
    int64_t changed_ns;
};

struct sf_recording_total { /* of one rule */
    char *tenant, *id;      /* owned, terminated */
    int64_t closed_ns;      /* all profiles before this time are in `closed` */
    struct sf_recording_series *list;
    uint32_t n, cap;
    uint64_t n_partial; /* evaluations since the start that could not read all profiles */
};

struct sf_recording_totals {
    struct sf_recording_total *list;
    uint32_t n, cap;
    uint32_t n_series;  /* of all rules */
    uint64_t n_dropped; /* label sets over the limits; counted in each pass */
    bool is_changed;    /* changed since they were last saved */
};

void sf_recording_totals_done(struct sf_recording_totals *t); /* a zeroed one is fine */

/* The total of a rule, or NULL. Borrowed until the next add or remove. */
struct sf_recording_total *sf_recording_totals_find(struct sf_recording_totals *t, sf_str tenant,
                                                    sf_str id);
/* Adds the total of a rule that has none yet; NULL: no memory. */
struct sf_recording_total *sf_recording_totals_add(struct sf_recording_totals *t, sf_str tenant,
                                                   sf_str id, int64_t closed_ns);
void sf_recording_totals_remove(struct sf_recording_totals *t, sf_str tenant, sf_str id);

/* Adds the result of one pass: closes the time before `closed_ns` and replaces the open sums. */
enum sf_err sf_recording_totals_apply(struct sf_recording_totals *t,
                                      struct sf_recording_total *total, int64_t closed_ns,
                                      const struct sf_prof_points *closed,
                                      const struct sf_prof_points *open, int64_t now_ns,
                                      struct sf_why *why);

/* Writes the series of one rule into the current metric family; `tenant` empty: without that
 * label. */
void sf_recording_totals_render_one(const struct sf_recording_total *total,
                                    const struct sf_recording_rule *rule, sf_str tenant,
                                    struct sf_exposition *e);

/* Writes the file's text, and reads it. CORRUPT: not such a file; `t` is unchanged then. */
void sf_recording_totals_write(const struct sf_recording_totals *t, struct sf_buf *out);
enum sf_err sf_recording_totals_read(struct sf_recording_totals *t, sf_str text,
                                     struct sf_arena scratch, struct sf_why *why);
