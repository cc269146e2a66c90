/* control_client.h - a thread that polls the server for profiling settings, applies them, and
 * reports what is in effect.
 *
 * Polls again as soon as it has an answer: the server answers when settings change or after 30 s.
 * Without an answer it waits between polls (half a second, doubling to four; after five minutes to
 * thirty); after a 404, from a server without remote control, ten minutes. */
#pragma once
#include "collect/send/exporter.h"

struct sf_settings;

/* Starts the thread unless the settings forbid it or it runs. */
void sf_control_client_start(const struct sf_settings *settings, const char *instance_id);
void sf_control_client_stop(void);       /* stops polling; profilers continue unchanged */
void sf_control_client_after_fork(void); /* in the child */
