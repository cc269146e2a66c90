/* alert_send.h - alerts on their way to an Alertmanager or a webhook.
 *
 * Addresses come from the configuration only; redirects are not followed but count as failures. */
#pragma once
#include "alert/alert_book.h"
#include "os/fetch.h"

struct sf_alert_receiver {
    const char *url; /* of the rules' set */
    bool is_webhook;
    uint64_t told;              /* the book's changes up to this one it knows; 0: none */
    int64_t last_ns, failed_ns; /* when it last took something, or failed; monotonic */
};

struct sf_alert_sending {
    const struct sf_alert_book *book;
    const struct sf_alert_rules *rules;
    int64_t now_ns, mono_ns;
};

struct sf_alert_post { /* a request to a receiver */
    struct sf_fetch fetch;
    char url[SF_LIMIT_ALERT_TEXT_LEN + 32];
};

/* Does the receiver need a notification: a change, or a firing alert last sent long ago? */
bool sf_alert_send_is_due(const struct sf_alert_receiver *r, const struct sf_alert_sending *s);
/* The body for it; the number of alerts in it. */
size_t sf_alert_send_body(const struct sf_alert_receiver *r, const struct sf_alert_sending *s,
                          struct sf_buf *out);
/* The request with that body; what it points to outlives it. */
void sf_alert_send_post(const struct sf_alert_receiver *r, sf_bytes body,
                        const atomic_bool *is_stopping, struct sf_alert_post *out);

/* What an alert carries besides its rule's annotations, in the shape of both APIs. */
void sf_alert_send_json_labels(const struct sf_alert *a, struct sf_buf *out);
void sf_alert_send_json_notes(const struct sf_alert *a, struct sf_buf *out);
void sf_alert_send_json_time(int64_t ns, struct sf_buf *out); /* RFC 3339, quoted */
