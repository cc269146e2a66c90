/* control_client.h - a thread that asks the server what this process's profilers are to do, obeys,
 * and says what is in effect.
 *
 * Asks again as soon as it has an answer: the server holds a query until there is something new
 * or 30 s are over. Waits between queries when there is no answer (half a second, doubling to
 * four; after five minutes to thirty), ten minutes after a 404: that server knows no control. */
#pragma once
#include "collect/send/exporter.h"

struct sf_settings;

/* Starts the thread unless the settings forbid it or it runs. */
void sf_control_client_start(const struct sf_settings *settings, const char *instance_id);
void sf_control_client_stop(void);       /* it asks no more; profilers continue as they are */
void sf_control_client_after_fork(void); /* in the child */
