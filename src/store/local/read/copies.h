/* copies.h - among traces that seem to be in several runs, finds those that really are, and those
 * with duplicate spans.
 *
 * Two writers fill two memtables, so nearly every recent trace is in several runs; but a span is
 * stored twice only if it was sent twice. Callers that process spans one by one need only these
 * traces. */
#pragma once
#include "store/local/read/parted.h"

enum { SF_COPIES_LEAST = 256 }; /* reading a whole trace costs as much as comparing 200 spans */

/* Removes traces from `p` that only share half of a hash with another trace, if there are at least
 * `least` in all; otherwise `p` stays unchanged. */
enum sf_err sf_copies_keep_traces(struct sf_parted *p, const struct sf_snapshot *s,
                                  struct sf_local *l, struct sf_query_ctx *q, uint64_t least,
                                  struct sf_why *why);
/* Removes traces without duplicate spans from `p`, if there are at least `least` of them and few
 * enough to hold their spans in memory; otherwise `p` stays unchanged. */
enum sf_err sf_copies_keep(struct sf_parted *p, const struct sf_snapshot *s, struct sf_local *l,
                           struct sf_query_ctx *q, uint64_t least, struct sf_why *why);
