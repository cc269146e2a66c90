/* alert_send.h - writes notifications to an Alertmanager or a webhook, and their requests.
 *
 * Addresses come from the configuration only; redirects are not followed but count as failures. */
#pragma once
#include "alert/alert_book.h"
#include "os/fetch.h"

struct sf_alert_receiver {
    const char *url; /* owned by the rules */
    bool is_webhook;
    uint64_t told;              /* number of the book's last change that it was sent; 0: none */
    int64_t last_ns, failed_ns; /* monotonic times of the last success and the last failure */
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

/* Whether the receiver needs a notification: after a change, or for a firing alert last sent long
 * ago. */
bool sf_alert_send_is_due(const struct sf_alert_receiver *r, const struct sf_alert_sending *s);
/* Writes the body for it; returns the number of alerts in it. */
size_t sf_alert_send_body(const struct sf_alert_receiver *r, const struct sf_alert_sending *s,
                          struct sf_buf *out);
/* Fills in the request with that body, without sending it; everything it points to must outlive it.
 */
void sf_alert_send_post(const struct sf_alert_receiver *r, sf_bytes body,
                        const atomic_bool *is_stopping, struct sf_alert_post *out);

/* Write the labels of an alert, and its annotations with its value and reason, in the form that
 * both APIs use. */
void sf_alert_send_json_labels(const struct sf_alert *a, struct sf_buf *out);
void sf_alert_send_json_notes(const struct sf_alert *a, struct sf_buf *out);
void sf_alert_send_json_time(int64_t ns, struct sf_buf *out); /* RFC 3339, quoted */
