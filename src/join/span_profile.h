/* span_profile.h - the flame graph of one span, with its precision. */
#pragma once
#include "join/link_set.h"
#include "model/answer/span_profile.h"

struct sf_span_profile_want {
    sf_trace_id trace;
    sf_span_id span;
    sf_str type;
    bool is_self;      /* without its descendants */
    bool has_timeline; /* the samples one by one as well */
    bool is_member;    /* one of many spans: do not suggest where more is certain */
};

/* The result is in q->req. NOT_FOUND: no such trace, span or type. Without samples: an empty tree
 * and a reason. */
enum sf_err sf_span_profile_make(struct sf_store *store, const struct sf_span_profile_want *want,
                                 struct sf_query_ctx *q, struct sf_span_profile *out,
                                 struct sf_why *why);
/* The same with the best type if none is requested: CPU time; if none of its samples is in the
 * span, wall time, off-CPU time or time in locks, if there are any. The reason says so. */
enum sf_err sf_span_profile_best(struct sf_store *store, const struct sf_span_profile_want *want,
                                 struct sf_query_ctx *q, struct sf_span_profile *out,
                                 struct sf_why *why);
/* Fills in the largest function and the interval of its share. */
enum sf_err sf_span_profile_find_top(struct sf_span_profile *p, struct sf_arena *req,
                                     struct sf_why *why);
