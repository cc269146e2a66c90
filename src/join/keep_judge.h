/* keep_judge.h - the verdict on an hour that is over: which of its traces keep their samples. */
#pragma once
#include "store/store.h"

/* Judges the hour that is due and gives the store the verdict. Whatever does not fit the limits
 * (memory of a query, traces of a verdict, time) keeps the hour whole, and the verdict reports it.
 * `out` gets the verdict without its lists. `scratch` is for one trace at a time; reset. CANCELLED:
 * nothing was decided. */
enum sf_err sf_keep_judge_run(struct sf_store *store, const struct sf_keep_due *due,
                              struct sf_query_ctx *q, struct sf_arena *scratch, int64_t now_ns,
                              struct sf_verdict *out, struct sf_why *why);
