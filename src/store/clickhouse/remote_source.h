/* remote_source.h - the shards that a query reads, and functions that all its statements use.
 *
 * A shard that does not answer is named in q->unread and makes the answer inexact; the rows of the
 * other shards are returned. */
#pragma once
#include <stdatomic.h>

#include "base/buf.h"
#include "store/store.h"

struct sf_answer_memo;
struct sf_attr_columns;
struct sf_shard;
struct sf_shard_absence;
struct sf_shard_lines;

struct sf_remote_source {
    struct sf_store *store;             /* has this node's own rows, and */
    const struct sf_store_ops *own_ops; /* the operations that read them */
    const char *database;
    uint32_t n_shards;
    uint32_t node; /* this node's number in batch numbers: sf_remote_source_node() */
    /* The number under which it moved, or is moving, its older blocks. */
    bool has_mover;
    uint32_t mover;
    /* Records up to it are in blocks that are not all in ClickHouse; 0: none. */
    uint64_t history_lsn;
    bool has_left_out; /* records up to shipped_lsn() are there except some */
    uint64_t (*shipped_lsn)(const void *arg); /* records up to it are in ClickHouse */
    /* Opens a connection to a shard, which the caller closes. */
    enum sf_err (*open)(void *arg, uint32_t shard, const struct sf_query_ctx *q,
                        struct sf_shard **out, struct sf_why *why);
    void *arg;
    /* Of the store, shared by all its requests: */
    struct sf_answer_memo *memo;
    const struct sf_attr_columns *attributes;
    struct sf_shard_absence *absence;
    struct sf_shard_lines *lines;
    atomic_uint_fast64_t *n_rounds; /* rounds of queries so far */
};

/* A batch number consists of the node's number (high 22 bits, so that a node can exclude its own
 * rows from a record on), 4 bits of the time of receipt (because a data directory restored from a
 * backup sends other records under the same numbers), and the first record. */
enum { SF_BATCH_NODE_BITS = 22, SF_BATCH_RECORD_BITS = 38 };
uint32_t sf_remote_source_node(const uint8_t uuid[16]);
uint64_t sf_remote_source_batch(uint32_t node, int64_t recv_ns, uint64_t first_record);
/* Writes " AND ..." for all rows but those of batches of a node that begin after `lsn`. */
void sf_remote_source_before(uint32_t node, uint64_t lsn, struct sf_buf *sql);
/* Writes " AND ..." for rows of other nodes, or of this node's records up to `lsn`; 0: only of
 * other nodes, otherwise also of blocks that were moved. */
void sf_remote_source_others(const struct sf_remote_source *r, uint64_t lsn, struct sf_buf *sql);

/* Writes the condition for rows that this node has shipped. */
void sf_remote_source_mine(const struct sf_remote_source *r, struct sf_buf *sql);

/* Writes 'text', escaped; any bytes are allowed. */
void sf_remote_source_quote(struct sf_buf *sql, sf_str text);
/* Writes a trace id as a literal, which costs the shard less than a call of unhex(). */
void sf_remote_source_put_id(struct sf_buf *sql, sf_trace_id id);
/* Writes "tenant IN ('a','b')" for the query's tenants. */
void sf_remote_source_tenants(const struct sf_remote_source *r, const struct sf_query_ctx *q,
                              struct sf_buf *sql);
/* Which of the query's tenants has that name; SF_NONE: none. */
uint32_t sf_remote_source_tenant(const struct sf_remote_source *r, const struct sf_query_ctx *q,
                                 sf_str name);

struct sf_remote_query { /* one query of a round */
    uint32_t shard;
    struct sf_buf sql; /* empty: nothing is asked */
    struct sf_buf out; /* at most out.max bytes */
    enum sf_err err;   /* the result */
    struct sf_why why;
};
/* `n_kinds` lists, one after the other, with one empty query for each shard. NULL: no memory. */
struct sf_remote_query *sf_remote_source_queries(const struct sf_remote_source *r, uint32_t n_kinds,
                                                 size_t max_len);
void sf_remote_source_queries_free(const struct sf_remote_source *r, struct sf_remote_query *list,
                                   uint32_t n_kinds); /* NULL is fine */
/* Sends the queries of a list at once, and waits until each has its result. Answers that are cached
 * for this request are used. A shard that did not answer in time before is asked again only when
 * it answers a short query: meanwhile its queries fail at once. With several shards, a query has
 * two thirds of the request's remaining time, so that the rows of the other shards can still be
 * returned. */
void sf_remote_source_ask_all(const struct sf_remote_source *r, struct sf_query_ctx *q,
                              struct sf_remote_query *list, size_t n);
/* Puts the same statement into the query of each shard, and sends them. */
void sf_remote_source_ask_each(const struct sf_remote_source *r, struct sf_query_ctx *q,
                               const struct sf_buf *sql, struct sf_remote_query *list);
/* The result of a query, with its message in `why`. */
enum sf_err sf_remote_source_result(const struct sf_remote_query *query, struct sf_why *why);
/* Is the answer to this statement cached for the request, from each shard? */
bool sf_remote_source_is_cached(const struct sf_remote_source *r, const struct sf_query_ctx *q,
                                const struct sf_buf *sql);
/* May the query continue without the shard that failed with this error? If so, notes it. */
bool sf_remote_source_goes_on(const struct sf_remote_source *r, uint32_t i, struct sf_query_ctx *q,
                              enum sf_err err);
