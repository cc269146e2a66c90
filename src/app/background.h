/* background.h - threads that each run one job periodically until the server stops: recording
 * rules, choice of requests that keep their detail, alert rules. A table gives each job's interval;
 * jobs run once the store is open and return soon when the server stops. */
#pragma once
#include "app/config.h"
#include "serve/service.h"

struct sf_background;

/* Service and configuration must outlive it. NOMEM, or the error of starting a thread. */
enum sf_err sf_background_start(struct sf_service *service, const struct sf_config *config,
                                struct sf_background **out, struct sf_why *why);
void sf_background_stop(struct sf_background *b); /* stops the threads and frees; NULL is fine */
