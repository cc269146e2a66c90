/* explain_holder.h - finds the holders of the locks that a span waited for, if a profile shows
 * them.
 *
 * Contention profiles have the stacks either of the waiters (block profiles, Java's monitors,
 * the C library) or of the holders when they unlock (Go's mutex profile, whose stacks end in
 * Unlock). Only the latter show a holder, and for all locks of the service in that time, not for
 * one lock. */
#pragma once
#include "model/answer/explain.h"
#include "store/store.h"

struct sf_explain_holder_want {
    sf_str service;
    int64_t from_ns, to_ns;
};

/* "held in flush (cache.go:7): 80 % of the lock contention of cart then"; empty: no profile shows
 * it. In q->req. */
enum sf_err sf_explain_holder(struct sf_store *store, const struct sf_explain_holder_want *want,
                              struct sf_query_ctx *q, sf_str *out, struct sf_why *why);
