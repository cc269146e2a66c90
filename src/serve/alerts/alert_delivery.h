/* alert_delivery.h - tells receivers what changed, on a thread of its own: one that does not answer
 * keeps neither the evaluation of rules waiting nor other receivers. */
#pragma once
#include "serve/alerts/alerts.h"

struct sf_alert_delivery;

struct sf_alert_delivery *sf_alert_delivery_new(void);    /* NULL: no memory */
void sf_alert_delivery_free(struct sf_alert_delivery *d); /* NULL is fine */
/* Starts requests that are due, one at a time to each receiver, and takes their answers; returns
 * within a quarter of a second. To be called again and again, by one thread. */
void sf_alert_delivery_run(struct sf_service *s, struct sf_worker *worker, int64_t now_ns,
                           const atomic_bool *is_stopping);
