/* recording_totals.h - what recording rules have summed up so far: one counter for each rule and
 * set of labels, and the file that keeps them.
 *
 * A counter is what lies before a moment that is closed, plus what lies after it. Profiles come
 * late, so the part after it is summed again in each pass; what is closed never changes. Both are
 * read from the store, which has every profile that was acknowledged: a server that crashed before
 * the file was written sums the same again. Nothing here locks: the owner does. */
#pragma once
#include "meter/exposition.h"
#include "os/dir.h"
#include "serve/pyroscope/recording_rule.h"
#include "store/store.h"

struct sf_recording_series {
    uint8_t *labels; /* owned; names and values, each with its length before it */
    uint32_t labels_len;
    int64_t closed, open; /* sums before and after the closed moment */
    int64_t shown;        /* never falls, whatever is erased */
    int64_t changed_ns;
};

struct sf_recording_total { /* of one rule */
    char *tenant, *id;      /* owned, terminated */
    int64_t closed_ns;      /* all before it is in `closed` */
    struct sf_recording_series *list;
    uint32_t n, cap;
    uint64_t n_partial; /* evaluations since the start that could not read all profiles */
};

struct sf_recording_totals {
    struct sf_recording_total *list;
    uint32_t n, cap;
    uint32_t n_series;  /* of all rules */
    uint64_t n_dropped; /* label sets over the limits, each pass again */
    bool is_changed;    /* since they were last saved */
};

void sf_recording_totals_done(struct sf_recording_totals *t); /* a zeroed one is fine */

/* The total of a rule, or NULL. Borrowed until the next add or remove. */
struct sf_recording_total *sf_recording_totals_find(struct sf_recording_totals *t, sf_str tenant,
                                                    sf_str id);
/* That of a rule that has none yet; NULL: no memory. */
struct sf_recording_total *sf_recording_totals_add(struct sf_recording_totals *t, sf_str tenant,
                                                   sf_str id, int64_t closed_ns);
void sf_recording_totals_remove(struct sf_recording_totals *t, sf_str tenant, sf_str id);

/* What one pass found: closes what lies before `closed_ns`, replaces what lies after it. */
enum sf_err sf_recording_totals_apply(struct sf_recording_totals *t,
                                      struct sf_recording_total *total, int64_t closed_ns,
                                      const struct sf_prof_points *closed,
                                      const struct sf_prof_points *open, int64_t now_ns,
                                      struct sf_why *why);

/* The series of one rule, as the family that was begun; `tenant` empty: without that label. */
void sf_recording_totals_render_one(const struct sf_recording_total *total,
                                    const struct sf_recording_rule *rule, sf_str tenant,
                                    struct sf_exposition *e);

/* As text for the file, and back. CORRUPT: the file is not one; `t` is then as it was. */
void sf_recording_totals_write(const struct sf_recording_totals *t, struct sf_buf *out);
enum sf_err sf_recording_totals_read(struct sf_recording_totals *t, sf_str text,
                                     struct sf_arena scratch, struct sf_why *why);
