/* recording_rules.h - settings.v1.RecordingRulesService: rules that make metrics of profiles.
 *
 * Rules are a few lines of a file in the data directory, each tenant's own. A thread of the server
 * asks the store for their sums every few seconds (sf_recording_run), and /metrics shows them
 * as counters; recording_totals.h says how they stay right over restarts. Any thread. */
#pragma once
#include "meter/exposition.h"
#include "os/dir.h"
#include "serve/call.h"

struct sf_recording_rules;

/* Reads the files. Rules that cannot be read are left out and their file gets another name; sums
 * that cannot be read are made again from the store; `notice` (240 bytes) then reports it. IO,
 * NOMEM.
 */
enum sf_err sf_recording_rules_open(struct sf_dir *dir, struct sf_recording_rules **out,
                                    char notice[240], struct sf_why *why);
/* Sums up what came since the last pass, on the calling thread, and saves it. */
void sf_recording_run(struct sf_service *s, struct sf_worker *worker, int64_t now_ns,
                      const atomic_bool *is_stopping);
void sf_recording_run_render(struct sf_recording_rules *r, bool has_tenancy,
                             struct sf_exposition *e);
void sf_recording_rules_close(struct sf_recording_rules *r); /* NULL is fine */

bool sf_recording_rules_get(struct sf_call *call, struct sf_worker *worker);
bool sf_recording_rules_list(struct sf_call *call, struct sf_worker *worker);
bool sf_recording_rules_upsert(struct sf_call *call, struct sf_worker *worker);
bool sf_recording_rules_delete(struct sf_call *call, struct sf_worker *worker);
