/* tags.h - lists the existing attributes, and the values of one.
 *
 * Without a filter the store answers from the tables of its blocks. A filter that the store
 * evaluates exactly is passed to it; any other is evaluated on the spans that may match. */
#pragma once
#include "model/tags.h"
#include "query/ast.h"
#include "store/store.h"

struct sf_tags {
    const struct sf_query *filter; /* one spanset filter, from sf_query_parse_partial; or NULL */
    int64_t from_ns, to_ns;        /* 0 and 0: all time */
    uint64_t limit;                /* for names of each scope, or values; 0: as many as fit */
    struct sf_arena *scratch;      /* for the current trace */
};

/* `scope` ANY: all, including intrinsics. The result is in q->req. */
enum sf_err sf_tags_names(struct sf_store *store, const struct sf_tags *tags,
                          enum sf_attr_scope scope, struct sf_query_ctx *q,
                          struct sf_tags_result *out, struct sf_why *why);
/* For durations, times, ids and numbers of the tree, no values are listed. */
enum sf_err sf_tags_values(struct sf_store *store, const struct sf_tags *tags,
                           const struct sf_query_attr *attr, struct sf_query_ctx *q,
                           struct sf_tags_result *out, struct sf_why *why);
