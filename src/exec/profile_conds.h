/* profile_conds.h - what a query says of profiles, answered before any span is examined.
 *
 * profile.frame and its like are conditions on a span's samples. Samples know their span, not the
 * other way round, so they are summed up first: once for each profile type that is compared, and
 * once for each condition on frames, where the store asks about every function's name once, not
 * about every sample. What comes out are tables from span ids to sums. The spans of a trace are
 * then looked up there, each with those below it in its process: what its flame graph shows from
 * samples that carry ids. */
#pragma once
#include "exec/trace_view.h"
#include "query/ast.h"
#include "store/store.h"

struct sf_profile_conds;
struct sf_trace_profiles;

/* In q->req; `*out` stays NULL when the query requests nothing of the kind. `scratch` is reset.
 * INPUT: more such conditions than are allowed; LIMIT: memory, or a pattern that takes too long. */
enum sf_err sf_profile_conds_load(struct sf_store *store, const struct sf_query *query,
                                  int64_t from_ns, int64_t to_ns, struct sf_arena *scratch,
                                  struct sf_query_ctx *q, const struct sf_profile_conds **out,
                                  struct sf_why *why);
/* Why spans may be missing in the tables, in a sentence; empty: they are whole. `c` may be NULL. */
sf_str sf_profile_conds_note(const struct sf_profile_conds *c);
/* Is it their number, and not only what could not be read? */
bool sf_profile_conds_is_cut(const struct sf_profile_conds *c);

/* Is it a comparison that no trace can satisfy without samples of its own? */
bool sf_profile_conds_is_needed(const struct sf_expr *e);
/* Of such a comparison: do samples that carry this id count for it? */
bool sf_profile_conds_has(const struct sf_profile_conds *c, const struct sf_expr *e, sf_span_id id);

/* The sums of a trace's spans, in `req`; v->profiles shows them. LIMIT. */
enum sf_err sf_profile_conds_apply(const struct sf_profile_conds *c, struct sf_trace_view *v,
                                   struct sf_arena *req, struct sf_why *why);
/* Of a view with profiles: how much of `which` the span has, no more than it lasted on each thread
 * that its samples name. False: it has no such samples. */
bool sf_profile_conds_value(const struct sf_trace_profiles *p, enum sf_intrinsic which,
                            uint32_t span, int64_t *out);
/* The same as it was sampled: for sums over many spans, where what one has too much others have too
 * little. */
bool sf_profile_conds_sent(const struct sf_trace_profiles *p, enum sf_intrinsic which,
                           uint32_t span, int64_t *out);
/* Is `e`, a comparison of profile.frame with a text, true on the span? */
bool sf_profile_conds_frame(const struct sf_trace_profiles *p, const struct sf_expr *e,
                            uint32_t span);
