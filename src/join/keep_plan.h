/* keep_plan.h - simulates the retention rules over a time range: what each rule would keep of the
 * samples of single requests. */
#pragma once
#include "model/answer/keep_plan.h"
#include "store/store.h"

struct sf_keep_plan_want {
    int64_t from_ns, until_ns; /* traces whose first span starts there */
    struct sf_keep_rules rules;
    struct sf_arena *scratch; /* for one trace at a time; is reset */
};

/* Reads every trace of the range, and sums of its samples. If these exceed a query's memory, or
 * time is up, the answer says so. */
enum sf_err sf_keep_plan_make(struct sf_store *store, const struct sf_keep_plan_want *want,
                              struct sf_query_ctx *q, struct sf_keep_plan *out, struct sf_why *why);
