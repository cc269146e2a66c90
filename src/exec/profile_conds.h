/* profile_conds.h - a query's conditions on profiles, loaded before any span is examined.
 *
 * profile.frame and similar intrinsics are conditions on a span's samples. Samples refer to spans,
 * not the other way round, so they are summed first: once for each profile type that is compared,
 * and once for each condition on frames, for which the store tests every function name once, not
 * every sample. The results are tables from span ids to sums. The spans of a trace are then looked
 * up there, each with its descendants in its process: the same samples that its flame graph shows,
 * as far as they carry ids. */
#pragma once
#include "exec/trace_view.h"
#include "query/ast.h"
#include "store/store.h"

struct sf_profile_conds;
struct sf_trace_profiles;

/* In q->req; `*out` stays NULL if the query has no such conditions. `scratch` is reset. INPUT: too
 * many such conditions; LIMIT: memory, or a pattern that takes too long. */
enum sf_err sf_profile_conds_load(struct sf_store *store, const struct sf_query *query,
                                  int64_t from_ns, int64_t to_ns, struct sf_arena *scratch,
                                  struct sf_query_ctx *q, const struct sf_profile_conds **out,
                                  struct sf_why *why);
/* A sentence about why spans may be missing in the tables; empty: they are complete. `c` may be
 * NULL. */
sf_str sf_profile_conds_note(const struct sf_profile_conds *c);
/* Are there too many spans, rather than only unreadable data? */
bool sf_profile_conds_is_cut(const struct sf_profile_conds *c);

/* Is it a comparison that no trace can satisfy without having samples? */
bool sf_profile_conds_is_needed(const struct sf_expr *e);
/* For such a comparison: do samples with this id count? */
bool sf_profile_conds_has(const struct sf_profile_conds *c, const struct sf_expr *e, sf_span_id id);

/* Sums for a trace's spans, in `req`; v->profiles refers to them. LIMIT. */
enum sf_err sf_profile_conds_apply(const struct sf_profile_conds *c, struct sf_trace_view *v,
                                   struct sf_arena *req, struct sf_why *why);
/* For a view with profiles: the value of `which` for the span, at most its duration on each thread
 * that its samples name. False: it has no such samples. */
bool sf_profile_conds_value(const struct sf_trace_profiles *p, enum sf_intrinsic which,
                            uint32_t span, int64_t *out);
/* The same as sampled, not limited: for sums over many spans, in which errors of single spans
 * cancel out. */
bool sf_profile_conds_sent(const struct sf_trace_profiles *p, enum sf_intrinsic which,
                           uint32_t span, int64_t *out);
/* Is `e`, a comparison of profile.frame with a text, true for the span? */
bool sf_profile_conds_frame(const struct sf_trace_profiles *p, const struct sf_expr *e,
                            uint32_t span);
