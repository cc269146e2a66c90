/* tags.h - which attributes there are, and which values one has.
 *
 * Without a filter the store answers from what it knows of each block. A filter that the store
 * judges exactly is handed down; any other is evaluated on the spans that may match. */
#pragma once
#include "model/tags.h"
#include "query/ast.h"
#include "store/store.h"

struct sf_tags {
    const struct sf_query
        *filter;              /* one spanset filter, as sf_query_parse_partial gives; or NULL */
    int64_t from_ns, to_ns;   /* 0 and 0: all time */
    uint64_t limit;           /* names of each scope, or values; 0: as many as fit */
    struct sf_arena *scratch; /* for the trace in hand */
};

/* `scope` ANY: all, the intrinsics too. Result in q->req. */
enum sf_err sf_tags_names(struct sf_store *store, const struct sf_tags *tags,
                          enum sf_attr_scope scope, struct sf_query_ctx *q,
                          struct sf_tags_result *out, struct sf_why *why);
/* Durations, times, ids and numbers of the tree have no list of values: none are given. */
enum sf_err sf_tags_values(struct sf_store *store, const struct sf_tags *tags,
                           const struct sf_query_attr *attr, struct sf_query_ctx *q,
                           struct sf_tags_result *out, struct sf_why *why);
