/* keep_judge.h - makes the verdict on a past hour: which of its traces keep their samples. */
#pragma once
#include "store/store.h"

/* Judges the hour that is due and passes the verdict to the store. If a limit is exceeded (memory
 * of a query, traces of a verdict, time), the whole hour is kept, and the verdict says so. `out`
 * gets the verdict without its lists. `scratch` is for one trace at a time; it is reset. CANCELLED:
 * nothing was decided. */
enum sf_err sf_keep_judge_run(struct sf_store *store, const struct sf_keep_due *due,
                              struct sf_query_ctx *q, struct sf_arena *scratch, int64_t now_ns,
                              struct sf_verdict *out, struct sf_why *why);
