/* alert_history.h - the newest alerts that fired, and when they were resolved. One thread at a
 * time. */
#pragma once
#include "alert/alert_book.h"

struct sf_alert_event {
    char *rule, *tenant, *labels, *reason; /* owned; the last may be NULL */
    int64_t fired_ns, resolved_ns;         /* resolved 0: still firing */
    double value;                          /* value when it began to fire */
    bool was_silenced;                     /* it was silenced when it fired */
};

struct sf_alert_history { /* oldest first */
    struct sf_alert_event *list;
    size_t n;
    bool is_changed; /* changed since it was written */
};

void sf_alert_history_done(struct sf_alert_history *h);
/* Adds the changes in the book at `now_ns`. When full, the oldest are dropped. */
void sf_alert_history_see(struct sf_alert_history *h, const struct sf_alert_book *b,
                          int64_t now_ns);
/* Writes and reads a file of lines whose first is a checksum. CORRUPT: nothing was read. */
void sf_alert_history_write(const struct sf_alert_history *h, struct sf_buf *out);
enum sf_err sf_alert_history_read(struct sf_alert_history *h, sf_str text, struct sf_why *why);
