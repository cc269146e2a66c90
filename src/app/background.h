/* background.h - threads that do one job again and again until the server stops: sums of recording
 * rules, hours to judge, rules of alerts. A job is requested as often as its table says, once the
 * store is open; it returns soon when the server stops. */
#pragma once
#include "app/config.h"
#include "serve/service.h"

struct sf_background;

/* Both outlive it. NOMEM, and what a thread's start may give. */
enum sf_err sf_background_start(struct sf_service *service, const struct sf_config *config,
                                struct sf_background **out, struct sf_why *why);
void sf_background_stop(struct sf_background *b); /* ends and frees; NULL is fine */
