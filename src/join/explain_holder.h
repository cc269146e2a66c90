/* explain_holder.h - the holders of the locks that a span waited for, if a profile shows them.
 *
 * Profiles of contention have stacks of one of two: the waiters (block profiles, Java's monitors,
 * the C library) or the holders when they unlock (Go's mutex profile, whose stacks end in Unlock).
 * Only the latter name a holder, and of all locks of the service in that time, not of one. */
#pragma once
#include "model/answer/explain.h"
#include "store/store.h"

struct sf_explain_holder_want {
    sf_str service;
    int64_t from_ns, to_ns;
};

/* "held in flush (cache.go:7): 80 % of the lock contention of cart then"; empty: no profile knows.
 * In q->req. */
enum sf_err sf_explain_holder(struct sf_store *store, const struct sf_explain_holder_want *want,
                              struct sf_query_ctx *q, sf_str *out, struct sf_why *why);
