/* span_profile.h - the flame graph of one span, with its precision. */
#pragma once
#include "join/link_set.h"
#include "model/answer/span_profile.h"

struct sf_span_profile_want {
    sf_trace_id trace;
    sf_span_id span;
    sf_str type;
    bool is_self;      /* without spans below it */
    bool has_timeline; /* the samples one by one as well */
    bool is_member;    /* of many: where more is known of it alone is not given */
};

/* Lives in q->req. NOT_FOUND: no such trace, span or type. No samples: an empty tree and a reason.
 */
enum sf_err sf_span_profile_make(struct sf_store *store, const struct sf_span_profile_want *want,
                                 struct sf_query_ctx *q, struct sf_span_profile *out,
                                 struct sf_why *why);
/* The same of the type that answers best where none is requested: CPU time; where none of its
 * samples fell into the span, wall time, time off the CPU or in locks, as far as there are any. The
 * reason reports it. */
enum sf_err sf_span_profile_best(struct sf_store *store, const struct sf_span_profile_want *want,
                                 struct sf_query_ctx *q, struct sf_span_profile *out,
                                 struct sf_why *why);
/* Fills in the largest function and the interval of its share. */
enum sf_err sf_span_profile_find_top(struct sf_span_profile *p, struct sf_arena *req,
                                     struct sf_why *why);
