/* copies.h - of the traces that seem to be in several runs, which are, and which have a span twice?
 *
 * Two writers fill two memtables, so that nearly every recent trace is in parts; but a span is
 * there twice only when it was sent twice. Callers that process spans one by one need no more than
 * this. */
#pragma once
#include "store/local/read/parted.h"

enum { SF_COPIES_LEAST = 256 }; /* a whole trace costs as much as 200 spans here */

/* Takes the traces out of `p` that only share half of a hash with another trace, when there are at
 * least `least` in all; otherwise `p` stays as it is. */
enum sf_err sf_copies_keep_traces(struct sf_parted *p, const struct sf_snapshot *s,
                                  struct sf_local *l, struct sf_query_ctx *q, uint64_t least,
                                  struct sf_why *why);
/* Takes the traces without any copy out of `p`, when there are at least `least` of them and few
 * enough to remember their spans; otherwise `p` stays as it is. */
enum sf_err sf_copies_keep(struct sf_parted *p, const struct sf_snapshot *s, struct sf_local *l,
                           struct sf_query_ctx *q, uint64_t least, struct sf_why *why);
