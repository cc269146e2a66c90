/* alert_delivery.h - notifies receivers of changes, on a thread of its own: a receiver that does
 * not answer delays neither the evaluation of rules nor other receivers. */
#pragma once
#include "serve/alerts/alerts.h"

struct sf_alert_delivery;

struct sf_alert_delivery *sf_alert_delivery_new(void);    /* NULL: no memory */
void sf_alert_delivery_free(struct sf_alert_delivery *d); /* NULL is fine */
/* Starts requests that are due, one at a time to each receiver, and processes their answers;
 * returns within 0.25 s. One thread calls it repeatedly. */
void sf_alert_delivery_run(struct sf_service *s, struct sf_worker *worker, int64_t now_ns,
                           const atomic_bool *is_stopping);
