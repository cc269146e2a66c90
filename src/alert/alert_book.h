/* alert_book.h - the state of all alerts: pending, firing or resolved, and since when.
 *
 * Does not read data or the clock: each step gets the results of a rule and their time. One thread
 * at a time. */
#pragma once
#include "alert/alert_rule.h"

enum sf_alert_state { SF_ALERT_PENDING, SF_ALERT_FIRING, SF_ALERT_RESOLVED };

struct sf_alert_value { /* one series in the result of a rule */
    sf_str labels;      /* members of a JSON object, without braces: they name the alert */
    sf_str notes;       /* annotations, as members of a JSON object */
    double value;
    sf_str reason; /* explanation in one sentence; empty: not given */
    sf_str spans;  /* a query for the spans concerned; empty: that of the rule */
};

struct sf_alert {
    char *rule, *tenant, *labels, *notes; /* owned */
    char *reason;                         /* explanation in one sentence; NULL: unknown */
    char *spans;                          /* query for the spans concerned; NULL: that of its
                                           * rule */
    enum sf_alert_state state;
    double value;
    int64_t since_ns;    /* when the condition became true */
    int64_t fired_ns;    /* 0: not yet */
    int64_t resolved_ns; /* 0: not yet */
    int64_t changed_ns;  /* when it began to fire, or was resolved */
    uint64_t change;     /* number of the book's change in which it last became news */
    bool is_news;        /* it changed; receivers are notified only after it is published */
    bool is_seen;
    bool is_silenced; /* no notification is sent */
};

struct sf_alert_book {
    struct sf_alert *list;
    size_t n, cap;
    int64_t last_ns;    /* time of the last evaluation of all rules; 0: never */
    uint64_t n_dropped; /* alerts above SF_LIMIT_ALERT_SERIES, counted in each evaluation */
    uint64_t n_changes; /* number of published changes */
    bool is_changed;    /* changed since it was written */
};

void sf_alert_book_done(struct sf_alert_book *b);
char *sf_alert_book_copy(sf_str s); /* copy of an alert's text; NULL: no memory */
/* Applies the result of `rule` at `now_ns`: alerts with these values are active, its others are
 * not. If the result `is_partial`, the others keep their state. On NOMEM the values before the
 * failure are applied. */
enum sf_err sf_alert_book_step(struct sf_alert_book *b, const struct sf_alert_rule *rule,
                               const struct sf_alert_value *values, size_t n, bool is_partial,
                               int64_t now_ns, struct sf_why *why);
/* Resolves alerts of rules that no longer exist; removes those resolved long ago. */
void sf_alert_book_tidy(struct sf_alert_book *b, const struct sf_alert_rules *rules,
                        int64_t now_ns);
/* All changes are complete, with reasons and silences: receivers may be notified. */
void sf_alert_book_publish(struct sf_alert_book *b);
bool sf_alert_book_is_of(const struct sf_alert *a, const struct sf_alert_rule *rule);

/* Writes and reads a file of lines whose first is a checksum. CORRUPT: not such a file, or damaged;
 * nothing is read then. */
void sf_alert_book_write(const struct sf_alert_book *b, struct sf_buf *out);
enum sf_err sf_alert_book_read(struct sf_alert_book *b, sf_str text, struct sf_why *why);
/* A label of an alert. False: it has none of that name. In `req`. */
bool sf_alert_book_label(const struct sf_alert *a, sf_str key, struct sf_arena *req, sf_str *out);
