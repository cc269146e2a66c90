/* profile.h - makes one flame graph: chooses type and spans, and merges. */
#pragma once
#include "flame/stack_filter.h"
#include "model/answer/profile_view.h"
#include "store/store.h"

struct sf_profile_ask {
    sf_str service; /* empty: any */
    sf_str type;    /* a full id, its first parts, a sample type or a family; empty: CPU first */
    sf_str span_id; /* hexadecimal as given; empty: none */
    bool has_trace;
    sf_trace_id trace_id;
    const struct sf_matcher *match; /* further labels */
    size_t n_match;
    int64_t from_ns, until_ns;            /* range of the aggregate; with ids, 0 and 0 mean all */
    const struct sf_stack_filter *stacks; /* only these; NULL: all */
    uint32_t max_nodes;                   /* 0: all */
    bool has_ids;                         /* also return which part belongs to which span */
};

/* INPUT (an invalid or ambiguous id), NOT_FOUND with the reason. In q->req. */
enum sf_err sf_profile_get(struct sf_store *store, const struct sf_profile_ask *ask,
                           struct sf_query_ctx *q, struct sf_profile_view *out, struct sf_why *why);
/* All stacks that `query` selects, as functions without lines. */
enum sf_err sf_profile_functions(struct sf_store *store, const struct sf_prof_query *query,
                                 struct sf_query_ctx *q, struct sf_tree *out, struct sf_why *why);
/* The type that `query` names, completed from its series: the query may name three parts of it. If
 * there is no such series, from the parts of the id. */
enum sf_err sf_profile_type_of(struct sf_store *store, const struct sf_prof_query *query,
                               struct sf_query_ctx *q, struct sf_profile_type *out,
                               struct sf_why *why);
