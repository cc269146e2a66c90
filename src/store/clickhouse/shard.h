/* shard.h - one ClickHouse server, asked over HTTP.
 *
 * Statements go in the body, rows of an insert as RowBinary compressed with zstd. User and password
 * travel in headers and are in no message. One thread at a time uses a shard; the connection stays
 * open between requests.
 *
 * skip_unavailable_shards and its like are never set: a shard that does not answer is a fault that
 * the caller names. */
#pragma once
#include <stdatomic.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct sf_shard;

struct sf_shard_config {
    const char *address; /* "http://host:8123" */
    const char *database;
    const char *user, *password;  /* NULL: none */
    const char *ca_file;          /* NULL: the machine's */
    int64_t connect_ns, whole_ns; /* of one request */
    const atomic_bool *cancel;    /* true: give up at once; may be NULL */
};

/* Copies what it is given. NOMEM. */
enum sf_err sf_shard_open(const struct sf_shard_config *config, struct sf_shard **out,
                          struct sf_why *why);
void sf_shard_close(struct sf_shard *s);                /* NULL is fine */
const char *sf_shard_address(const struct sf_shard *s); /* as opened */

/* What became of a request that failed. */
enum sf_shard_fault {
    SF_SHARD_RETRY,  /* the network, a busy or broken server, or settings an operator can change */
    SF_SHARD_REFUSED /* the rows themselves: sent again they would be refused again */
};

/* A statement without an answer that matters. IO, DEADLINE, CANCELLED; the sentence begins with the
 * address. */
enum sf_err sf_shard_run(struct sf_shard *s, sf_str sql, struct sf_why *why);
/* Rows in RowBinary (the statement reports it: FORMAT RowBinary); LIMIT above `out->max` bytes.
 * When `deadline_ns` (monotonic; 0: none) passes or the cancel flag rises, the query is killed on
 * the server, too. */
enum sf_err sf_shard_ask(struct sf_shard *s, sf_str sql, int64_t deadline_ns, struct sf_buf *out,
                         struct sf_why *why);
/* `sql` is INSERT INTO ... FORMAT RowBinary, `rows` a zstd frame. Stored once per `token`: the same
 * one again is answered like the first and stores nothing. */
enum sf_err sf_shard_insert(struct sf_shard *s, sf_str sql, const char *token, sf_bytes rows,
                            enum sf_shard_fault *out_fault, struct sf_why *why);

enum { SF_SHARD_VERSION_CAP = 32 };
/* Its version; UNSUPPORTED when it is one without insert_deduplication_token (before 22.2). */
enum sf_err sf_shard_probe(struct sf_shard *s, char version[SF_SHARD_VERSION_CAP],
                           struct sf_why *why);
