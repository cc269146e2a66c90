/* remote_source.h - the shards of a query, and what all of its statements share.
 *
 * A shard that does not answer is named in q->unread and makes the answer inexact; the others'
 * rows are given. */
#pragma once
#include "base/buf.h"
#include "store/store.h"

struct sf_answer_memo;
struct sf_shard;

struct sf_remote_source {
    struct sf_store *store;             /* with this node's own rows, and */
    const struct sf_store_ops *own_ops; /* how to read them */
    const char *database;
    uint32_t n_shards;
    uint32_t node;                            /* as batches are numbered: sf_remote_source_node() */
    uint64_t (*shipped_lsn)(const void *arg); /* records up to it are in ClickHouse */
    /* A shard to ask, which the caller closes. */
    enum sf_err (*open)(void *arg, uint32_t shard, const struct sf_query_ctx *q,
                        struct sf_shard **out, struct sf_why *why);
    void *arg;
    struct sf_answer_memo *memo; /* of the store; may be NULL */
};

/* A batch's number: the node's in its high 22 bits, so that a node can leave out its own rows from
 * a record on; then 4 bits of when it was received, because a data directory that was set back
 * sends other records under the same numbers; then its first record. */
enum { SF_BATCH_NODE_BITS = 22, SF_BATCH_RECORD_BITS = 38 };
uint32_t sf_remote_source_node(const uint8_t uuid[16]);
uint64_t sf_remote_source_batch(uint32_t node, int64_t recv_ns, uint64_t first_record);
/* " AND ..." of rows that are not this node's, or come from records up to `lsn`. */
void sf_remote_source_others(const struct sf_remote_source *r, uint64_t lsn, struct sf_buf *sql);

/* "..." of rows that this node has shipped. */
void sf_remote_source_mine(const struct sf_remote_source *r, struct sf_buf *sql);

/* 'text', whatever bytes it has. */
void sf_remote_source_quote(struct sf_buf *sql, sf_str text);
/* "tenant IN ('a','b')" of the query's tenants. */
void sf_remote_source_tenants(const struct sf_remote_source *r, const struct sf_query_ctx *q,
                              struct sf_buf *sql);
/* Which of the query's tenants has that name; SF_NONE: none. */
uint32_t sf_remote_source_tenant(const struct sf_remote_source *r, const struct sf_query_ctx *q,
                                 sf_str name);
/* Asks shard `i`, for at most out->max bytes; or has the answer from earlier in this request. */
enum sf_err sf_remote_source_ask(const struct sf_remote_source *r, uint32_t i,
                                 struct sf_query_ctx *q, struct sf_buf *sql, struct sf_buf *out,
                                 struct sf_why *why);
/* Does the answer continue without the shard that failed so? Then it is noted. */
bool sf_remote_source_goes_on(const struct sf_remote_source *r, uint32_t i, struct sf_query_ctx *q,
                              enum sf_err err);
