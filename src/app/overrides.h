/* overrides.h - the file of limits.overrides_file: limits of tenants and of their services.
 *
 *     overrides:
 *       "red":
 *         spans_per_second: 1000
 *         services:
 *           checkout: {spans_per_second: 50}
 *       "*":
 *         bytes_per_second: 1MB
 *
 * Read at start, at SIGHUP, and when it has changed. Errors name file and line: at start they end
 * the server, later the previous limits stay in effect. One thread at a time. */
#pragma once
#include "intake/quota.h"

struct sf_overrides;

/* INPUT (with file and line), LIMIT, NOMEM. */
enum sf_err sf_overrides_parse(sf_str yaml, const char *file, struct sf_quota_rules **out,
                               struct sf_why *why);
/* Reads the file into `quota`, which is borrowed until close, as is the path. */
enum sf_err sf_overrides_open(const char *path, struct sf_quota *quota, struct sf_overrides **out,
                              struct sf_why *why);
void sf_overrides_close(struct sf_overrides *o); /* NULL is fine */
enum sf_err sf_overrides_reload(struct sf_overrides *o, struct sf_why *why);
/* Whether the file was written or replaced since it was last read, successfully or not. */
bool sf_overrides_is_changed(const struct sf_overrides *o);
