/* trace_set.h - a bounded set of traces. */
#pragma once
#include "base/err.h"
#include "base/table.h"
#include "model/ids.h"

struct sf_trace_set { /* distinct traces, in the order in which they were added */
    sf_trace_id *ids;
    uint32_t n, cap;
    struct sf_table at;
};
enum { SF_TRACE_SET_MOST = 50000 };

/* NOMEM; LIMIT: more than SF_TRACE_SET_MOST. */
enum sf_err sf_trace_set_add(struct sf_trace_set *s, sf_trace_id id, struct sf_why *why);
void sf_trace_set_done(struct sf_trace_set *s);
