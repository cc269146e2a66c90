/* shard.h - client of one ClickHouse server, over HTTP.
 *
 * Statements are sent in the body, rows of an insert in a format of ClickHouse, compressed with
 * zstd. User and password are sent in headers and appear in no message. A shard is used by one
 * thread at a time; the connection stays open between requests.
 *
 * Each statement carries limits of its time and memory on the server, and each query one of its
 * result.
 *
 * Settings such as skip_unavailable_shards are never used: a shard that does not answer is a fault
 * that the caller reports. */
#pragma once
#include <stdatomic.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct sf_shard;

/* The part of a server's memory that one answer may take: 1 / SF_SHARD_ANSWER_PARTS. */
enum { SF_SHARD_ANSWER_PARTS = 4 };

struct sf_shard_config {
    const char *address; /* "http://host:8123" */
    const char *database;
    const char *user, *password;  /* NULL: none */
    const char *ca_file;          /* NULL: the certificates of the system */
    int64_t connect_ns, whole_ns; /* of one request */
    size_t answer_len;         /* maximum of an answer, besides that of its buffer; 0: no other */
    uint64_t memory_len;       /* that a statement may take on the server; 0: the server's limit */
    const atomic_bool *cancel; /* when it becomes true, requests end at once; may be NULL */
};

/* Copies the configuration. NOMEM. */
enum sf_err sf_shard_open(const struct sf_shard_config *config, struct sf_shard **out,
                          struct sf_why *why);
void sf_shard_close(struct sf_shard *s);                /* NULL is allowed */
const char *sf_shard_address(const struct sf_shard *s); /* as opened */

/* Why a request failed. */
enum sf_shard_fault {
    SF_SHARD_RETRY,  /* the network, a busy or broken server, or settings an operator can change */
    SF_SHARD_REFUSED /* the rows themselves: sent again they would be refused again */
};

/* Runs a statement and discards the answer. IO, DEADLINE, CANCELLED; the message begins with the
 * address. */
enum sf_err sf_shard_run(struct sf_shard *s, sf_str sql, struct sf_why *why);
/* Returns rows in RowBinary (`sql` ends with FORMAT RowBinary); LIMIT above `out->max` or the
 * shard's `answer_len` bytes. When
 * `deadline_ns` (monotonic; 0: none) passes or the cancel flag is set, the query is also killed on
 * the server. */
enum sf_err sf_shard_ask(struct sf_shard *s, sf_str sql, int64_t deadline_ns, struct sf_buf *out,
                         struct sf_why *why);

/* ---- several queries at once ---- */

/* Connections that stay open between rounds of queries. Threads may share it. */
struct sf_shard_lines;
struct sf_shard_lines *sf_shard_lines_new(void);    /* NULL: no memory */
void sf_shard_lines_free(struct sf_shard_lines *l); /* NULL is allowed */

struct sf_shard_query { /* as for sf_shard_ask */
    struct sf_shard *shard;
    sf_str sql;
    int64_t limit_ns; /* time for the answer; 0: that of the shard */
    struct sf_buf *out;
    enum sf_err err; /* the result */
    struct sf_why why;
};
/* Sends all queries at once and waits until each has its result. Several may be to one shard. Uses
 * connections of `lines`, not those of the shards. */
void sf_shard_ask_all(struct sf_shard_lines *lines, struct sf_shard_query *list, size_t n);

/* ---- inserts ---- */

/* `sql` is INSERT INTO ... FORMAT RowBinary, `rows` a zstd frame. Stored once per `token`: repeated
 * with the same token, it succeeds and stores nothing. */
enum sf_err sf_shard_insert(struct sf_shard *s, sf_str sql, const char *token, sf_bytes rows,
                            enum sf_shard_fault *out_fault, struct sf_why *why);

enum { SF_SHARD_VERSION_CAP = 32 };
/* The server's version; UNSUPPORTED for versions without insert_deduplication_token (before
 * 22.2). */
enum sf_err sf_shard_probe(struct sf_shard *s, char version[SF_SHARD_VERSION_CAP],
                           struct sf_why *why);
