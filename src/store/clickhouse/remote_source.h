/* remote_source.h - the shards that a query reads, and functions that all its statements use.
 *
 * A shard that does not answer is named in q->unread and makes the answer inexact; the rows of the
 * other shards are returned. */
#pragma once
#include "base/buf.h"
#include "store/store.h"

struct sf_answer_memo;
struct sf_shard;

struct sf_remote_source {
    struct sf_store *store;             /* has this node's own rows, and */
    const struct sf_store_ops *own_ops; /* the operations that read them */
    const char *database;
    uint32_t n_shards;
    uint32_t node; /* this node's number in batch numbers: sf_remote_source_node() */
    uint64_t (*shipped_lsn)(const void *arg); /* records up to it are in ClickHouse */
    /* Opens a connection to a shard, which the caller closes. */
    enum sf_err (*open)(void *arg, uint32_t shard, const struct sf_query_ctx *q,
                        struct sf_shard **out, struct sf_why *why);
    void *arg;
    struct sf_answer_memo *memo; /* of the store; may be NULL */
};

/* A batch number consists of the node's number (high 22 bits, so that a node can exclude its own
 * rows from a record on), 4 bits of the time of receipt (because a data directory restored from a
 * backup sends other records under the same numbers), and the first record. */
enum { SF_BATCH_NODE_BITS = 22, SF_BATCH_RECORD_BITS = 38 };
uint32_t sf_remote_source_node(const uint8_t uuid[16]);
uint64_t sf_remote_source_batch(uint32_t node, int64_t recv_ns, uint64_t first_record);
/* Writes " AND ..." for rows of other nodes, or of this node's records up to `lsn`. */
void sf_remote_source_others(const struct sf_remote_source *r, uint64_t lsn, struct sf_buf *sql);

/* Writes the condition for rows that this node has shipped. */
void sf_remote_source_mine(const struct sf_remote_source *r, struct sf_buf *sql);

/* Writes 'text', escaped; any bytes are allowed. */
void sf_remote_source_quote(struct sf_buf *sql, sf_str text);
/* Writes "tenant IN ('a','b')" for the query's tenants. */
void sf_remote_source_tenants(const struct sf_remote_source *r, const struct sf_query_ctx *q,
                              struct sf_buf *sql);
/* Which of the query's tenants has that name; SF_NONE: none. */
uint32_t sf_remote_source_tenant(const struct sf_remote_source *r, const struct sf_query_ctx *q,
                                 sf_str name);
/* Queries shard `i`, for at most out->max bytes; uses the answer cached for this request if any. */
enum sf_err sf_remote_source_ask(const struct sf_remote_source *r, uint32_t i,
                                 struct sf_query_ctx *q, struct sf_buf *sql, struct sf_buf *out,
                                 struct sf_why *why);
/* May the query continue without the shard that failed with this error? If so, notes it. */
bool sf_remote_source_goes_on(const struct sf_remote_source *r, uint32_t i, struct sf_query_ctx *q,
                              enum sf_err err);
