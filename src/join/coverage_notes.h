/* coverage_notes.h - notes on profilers whose values are known to differ from what their types
 * say. */
#pragma once
#include "model/answer/coverage.h"
#include "store/store.h"

/* Uses `out`'s service, time, types and language; in q->req. */
enum sf_err sf_coverage_notes_make(struct sf_store *store, struct sf_query_ctx *q,
                                   struct sf_coverage *out, struct sf_why *why);
