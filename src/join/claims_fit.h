/* claims_fit.h - what a span's samples come to, no more than there was.
 *
 * A sample represents the time between two samples of the profiler, which may be longer than the
 * span. Where a span carries the CPU time its thread used, its CPU samples on that thread are
 * scaled to it, up or down. Elsewhere no sample that has a time is longer than its span, and all
 * are cut in proportion where they exceed the span's duration times the threads they name;
 * estimates that name none, where they exceed its own time on one thread. So flame graph, ledger
 * and waterfall give one number, and none that the span had no space for. */
#pragma once
#include "join/link_set.h"

/* Cuts a->claims, for types of CPU time, wall time and waits, to the time that each span had; the
 * new list lives in `req`. With `whole`, a span above all others that claim (or SF_NOBODY), their
 * sum is cut to its time as well. *out_cut: the value cut from spans that carry no figure of their
 * own. */
enum sf_err sf_claims_fit(const struct sf_link_set *set, struct sf_attribution *a, uint32_t whole,
                          struct sf_arena *req, int64_t *out_cut, struct sf_why *why);

/* The CPU time that the wanted spans of the trace carry, each by itself: what their samples are
 * scaled to, and what the ledger has. SF_LEDGER_UNSAID: the set is of another type, or one of them
 * carries none. */
int64_t sf_claims_fit_measured(const struct sf_link_set *set, const bool *is_wanted);
