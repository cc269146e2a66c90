/* claims_fit.h - limits the samples attributed to a span to the time it had.
 *
 * A sample represents the time between two samples of the profiler, which may be longer than the
 * span. If a span carries the CPU time that its thread used, its CPU samples on that thread are
 * scaled to it, up or down. Otherwise a sample with a time counts at most for the duration of its
 * span, and all samples are reduced in proportion if they exceed the span's duration times the
 * number of threads they name; estimates without a thread, if they exceed the span's own time on
 * one thread. So flame graph, time breakdown and waterfall show the same number, and never more
 * than was possible. */
#pragma once
#include "join/link_set.h"

/* Reduces a->claims, for types of CPU time, wall time and waits, to the time that each span had;
 * the new list is in `req`. With `whole`, an ancestor of all spans with claims (or SF_NOBODY),
 * their sum is also limited to its time. *out_cut: the value removed from spans that carry no
 * figure of their own. */
enum sf_err sf_claims_fit(const struct sf_link_set *set, struct sf_attribution *a, uint32_t whole,
                          struct sf_arena *req, int64_t *out_cut, struct sf_why *why);

/* The CPU time that the wanted spans of the trace carry, excluding their children: their samples
 * are scaled to it, and the time breakdown uses it. SF_LEDGER_UNSAID: the set has another type, or
 * one of the spans carries none. */
int64_t sf_claims_fit_measured(const struct sf_link_set *set, const bool *is_wanted);
