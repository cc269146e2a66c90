/* alert_history.h - alerts that fired, the newest of them, and when they were over. One thread at a
 * time. */
#pragma once
#include "alert/alert_book.h"

struct sf_alert_event {
    char *rule, *tenant, *labels, *reason; /* owned; the last may be NULL */
    int64_t fired_ns, resolved_ns;         /* resolved 0: it fires still */
    double value;                          /* when it began, */
    bool was_silenced;                     /* and whether it was silenced */
};

struct sf_alert_history { /* oldest first */
    struct sf_alert_event *list;
    size_t n;
    bool is_changed; /* since it was written */
};

void sf_alert_history_done(struct sf_alert_history *h);
/* What changed in the book at `now_ns`. What has no space is forgotten, the oldest first. */
void sf_alert_history_see(struct sf_alert_history *h, const struct sf_alert_book *b,
                          int64_t now_ns);
/* As a file of lines whose first is a checksum. CORRUPT: nothing is taken. */
void sf_alert_history_write(const struct sf_alert_history *h, struct sf_buf *out);
enum sf_err sf_alert_history_read(struct sf_alert_history *h, sf_str text, struct sf_why *why);
