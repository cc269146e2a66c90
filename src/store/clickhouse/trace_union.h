/* trace_union.h - whole traces, wherever their spans were sent: this node's own rows, then those
 * that ClickHouse has and this node does not. */
#pragma once
#include "store/store.h"

struct sf_shard;

struct sf_trace_union_source {
    struct sf_store *store; /* the local one */
    enum sf_err (*local)(struct sf_store *s, const struct sf_trace_ask *asks, size_t n_asks,
                         struct sf_query_ctx *q, struct sf_span_cursor **out, struct sf_why *why);
    const char *database;
    uint32_t n_shards;
    /* A shard to ask, which the caller closes. */
    enum sf_err (*open)(void *arg, uint32_t shard, const struct sf_query_ctx *q,
                        struct sf_shard **out, struct sf_why *why);
    void *arg;
};

/* As traces_get of store.h. A shard that does not answer goes into q->unread. Asks 2 questions of
 * each shard for every 128 traces. */
enum sf_err sf_trace_union_get(const struct sf_trace_union_source *source,
                               const struct sf_trace_ask *asks, size_t n_asks,
                               struct sf_query_ctx *q, struct sf_span_cursor **out,
                               struct sf_why *why);
