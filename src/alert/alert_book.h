/* alert_book.h - which alerts there are: pending, firing, resolved, and since when.
 *
 * Decides nothing about data and knows no clock: a step is given what a rule found and when. One
 * thread at a time. */
#pragma once
#include "alert/alert_rule.h"

enum sf_alert_state { SF_ALERT_PENDING, SF_ALERT_FIRING, SF_ALERT_RESOLVED };

struct sf_alert_value { /* what a rule found: one of its series */
    sf_str labels;      /* members of a JSON object, without braces: they name the alert */
    sf_str notes;       /* its annotations, likewise */
    double value;
    sf_str reason; /* why, in a sentence; empty: not given */
    sf_str spans;  /* a query of the spans it is about; empty: those of the rule */
};

struct sf_alert {
    char *rule, *tenant, *labels, *notes; /* owned */
    char *reason;                         /* why it is so, in a sentence; NULL: not known */
    char *spans;                          /* that it is about; NULL: those of its rule */
    enum sf_alert_state state;
    double value;
    int64_t since_ns;    /* true since then */
    int64_t fired_ns;    /* 0: not yet */
    int64_t resolved_ns; /* 0: not yet */
    int64_t changed_ns;  /* it began to fire, or was resolved */
    uint64_t change;     /* the book's, that made it news last */
    bool is_news;        /* it changed, and no notification may be sent before it is published */
    bool is_seen;
    bool is_silenced; /* no notification is sent */
};

struct sf_alert_book {
    struct sf_alert *list;
    size_t n, cap;
    int64_t last_ns;    /* of the last evaluation of all rules; 0: never */
    uint64_t n_dropped; /* alerts above SF_LIMIT_ALERT_SERIES, counted in each evaluation */
    uint64_t n_changes; /* that were published */
    bool is_changed;    /* since it was written */
};

void sf_alert_book_done(struct sf_alert_book *b);
char *sf_alert_book_copy(sf_str s); /* a text of an alert; NULL: no memory */
/* What `rule` found at `now_ns`: those values are true, and others are not, unless the answer
 * `is_partial`: then they stay as they were. NOMEM leaves what was done so far. */
enum sf_err sf_alert_book_step(struct sf_alert_book *b, const struct sf_alert_rule *rule,
                               const struct sf_alert_value *values, size_t n, bool is_partial,
                               int64_t now_ns, struct sf_why *why);
/* Alerts of rules that are no more are resolved; those resolved long ago go. */
void sf_alert_book_tidy(struct sf_alert_book *b, const struct sf_alert_rules *rules,
                        int64_t now_ns);
/* All changes are complete, with reasons and silences: receivers may be notified. */
void sf_alert_book_publish(struct sf_alert_book *b);
bool sf_alert_book_is_of(const struct sf_alert *a, const struct sf_alert_rule *rule);

/* As a file of lines whose first is a checksum. CORRUPT: another's bytes, or damaged; nothing is
 * taken then. */
void sf_alert_book_write(const struct sf_alert_book *b, struct sf_buf *out);
enum sf_err sf_alert_book_read(struct sf_alert_book *b, sf_str text, struct sf_why *why);
/* A label of an alert. False: it has none of that name. In `req`. */
bool sf_alert_book_label(const struct sf_alert *a, sf_str key, struct sf_arena *req, sf_str *out);
