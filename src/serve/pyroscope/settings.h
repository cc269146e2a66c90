/* settings.h - settings.v1.SettingsService: named texts stored per tenant.
 *
 * Profiles Drilldown keeps its preferences here. All are in memory and, one JSON line each, in one
 * file of the data directory that is replaced as a whole. Any thread. */
#pragma once
#include "serve/call.h"

struct sf_dir;
struct sf_pyroscope_settings;

/* Reads the file, if there is one. `dir` is borrowed until close. When lines of it cannot be read,
 * `said` gets a message and the file is renamed. IO, NOMEM. */
enum sf_err sf_settings_open(struct sf_dir *dir, struct sf_pyroscope_settings **out,
                             struct sf_why *said, struct sf_why *why);
void sf_settings_close(struct sf_pyroscope_settings *s); /* NULL is fine */

bool sf_settings_get(struct sf_call *call, struct sf_worker *worker);
bool sf_settings_set(struct sf_call *call, struct sf_worker *worker);
bool sf_settings_delete(struct sf_call *call, struct sf_worker *worker);
