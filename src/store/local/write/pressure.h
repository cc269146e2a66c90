/* pressure.h - whether the store can accept more data: depends on free disk space, level-0 blocks,
 * memory, and failures of flush and log. */
#pragma once
#include "store/local/engine.h"

/* Checks disk and block counts; called about ten times a second. */
void sf_pressure_update(struct sf_local *l);
/* A flush succeeded or failed: after a failure, writes are refused until one succeeds. */
void sf_pressure_flushed(struct sf_local *l, enum sf_err err, const struct sf_why *why);
/* The same for a pass of the compact thread: a failure is reported, but writes are not refused. */
void sf_pressure_compacted(struct sf_local *l, enum sf_err err, const struct sf_why *why);
/* How many eighths, rounded up, of their memory are filled by rows that a flush frees: parts alone,
 * or with the memtables. */
unsigned sf_pressure_rows(const struct sf_local *l);
/* `out_is_brief`: memory is what is short, which a flush frees. */
enum sf_pressure sf_pressure_now(struct sf_local *l, bool *out_is_brief);
/* Why writes are refused or the store is degraded; "" if neither. */
void sf_pressure_reason(struct sf_local *l, char *out, size_t len, bool *out_is_degraded);
