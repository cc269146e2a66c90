/* alerts.h - evaluates alert rules at intervals and keeps the resulting alerts.
 *
 * One thread of the server evaluates (sf_alerts_run); any thread may read the state or replace the
 * set of rules. */
#pragma once
#include "alert/alert_rule.h"
#include "meter/exposition.h"
#include "os/dir.h"
#include "serve/call.h"

struct sf_alerts;

/* Reads the state saved by an earlier run; a file that cannot be read is renamed, and `notice` (240
 * bytes) reports it. Takes `rules`, also on failure. */
enum sf_err sf_alerts_open(struct sf_dir *dir, struct sf_alert_rules *rules, struct sf_alerts **out,
                           char notice[240], struct sf_why *why);
/* Takes `rules`; they apply from the next evaluation on. */
void sf_alerts_replace(struct sf_alerts *a, struct sf_alert_rules *rules);
/* Evaluates all rules when due; to be called a few times a second. After missed intervals it
 * evaluates once. */
void sf_alerts_run(struct sf_service *s, struct sf_worker *worker, int64_t now_ns,
                   const atomic_bool *is_stopping);
void sf_alerts_render(struct sf_alerts *a, struct sf_exposition *e); /* /metrics */
void sf_alerts_close(struct sf_alerts *a);                           /* NULL is fine */

bool sf_alert_calls_rules(struct sf_call *call, struct sf_worker *worker);
bool sf_alert_calls_list(struct sf_call *call, struct sf_worker *worker);
/* Silences in the JSON of Alertmanager, and recent alerts. */
bool sf_silence_calls_post(struct sf_call *call, struct sf_worker *worker);
bool sf_silence_calls_list(struct sf_call *call, struct sf_worker *worker);
bool sf_silence_calls_delete(struct sf_call *call, struct sf_worker *worker);
bool sf_silence_calls_history(struct sf_call *call, struct sf_worker *worker);
bool sf_alert_calls_test(struct sf_call *call, struct sf_worker *worker);
