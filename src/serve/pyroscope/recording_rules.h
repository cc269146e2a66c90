/* recording_rules.h - settings.v1.RecordingRulesService: rules that generate metrics from profiles.
 *
 * Each tenant has its own rules; they are lines of a file in the data directory. A thread of the
 * server reads their sums from the store every few seconds (sf_recording_run), and /metrics shows
 * them as counters; recording_totals.h says how they stay correct across restarts. Any thread. */
#pragma once
#include "meter/exposition.h"
#include "os/dir.h"
#include "serve/call.h"

struct sf_recording_rules;

/* Reads the files. Rules that cannot be read are left out and their file is renamed; sums that
 * cannot be read are recomputed from the store; `notice` (240 bytes) then reports it. IO, NOMEM. */
enum sf_err sf_recording_rules_open(struct sf_dir *dir, struct sf_recording_rules **out,
                                    char notice[240], struct sf_why *why);
/* Adds the profiles that arrived since the last pass, on the calling thread, and saves the sums. */
void sf_recording_run(struct sf_service *s, struct sf_worker *worker, int64_t now_ns,
                      const atomic_bool *is_stopping);
void sf_recording_run_render(struct sf_recording_rules *r, bool has_tenancy,
                             struct sf_exposition *e);
void sf_recording_rules_close(struct sf_recording_rules *r); /* NULL is fine */

bool sf_recording_rules_get(struct sf_call *call, struct sf_worker *worker);
bool sf_recording_rules_list(struct sf_call *call, struct sf_worker *worker);
bool sf_recording_rules_upsert(struct sf_call *call, struct sf_worker *worker);
bool sf_recording_rules_delete(struct sf_call *call, struct sf_worker *worker);
