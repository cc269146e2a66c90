/* remote_state.h - answer: how much of a node's data has reached the remote store. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { SF_REMOTE_TABLES = 5, SF_REMOTE_FAULTS = 50 };

struct sf_remote_counts {
    uint64_t shipped_record, newest_record; /* record numbers of the log */
    int64_t lag_ns;                         /* age of the oldest record that is not shipped yet */
    uint64_t spool_len, spool_max_len;
    uint64_t n_batches, n_retries, n_refused; /* since the start */
    uint64_t n_rows[SF_REMOTE_TABLES];        /* rows shipped: traces, spans, profiles, ... */
    uint64_t n_lost, n_skipped; /* records that were missing in the log, or not readable */
    uint64_t n_shards, n_up;
    char last_error[240]; /* empty: no error since the last success */
};

/* How far the data that a node had before it began to ship was moved. A piece is a part of a
 * block. */
struct sf_move_counts {
    bool has_begun, is_done;
    uint64_t n_pieces, n_moved;
    uint64_t n_rows[SF_REMOTE_TABLES]; /* moved since the start of the server */
    uint64_t n_retries, n_skipped;     /* failed attempts; pieces that could not be read */
    char last_error[240];              /* empty: no error since the last success */
};

struct sf_remote_shard { /* strings in the request's arena */
    sf_str address, version;
    sf_str error; /* empty: the shard answered */
    uint32_t schema;
    uint64_t n_rows, n_bytes, n_parts;
};

struct sf_remote_state {
    sf_str database;
    struct sf_remote_counts counts;
    struct sf_move_counts move;
    const struct sf_remote_shard *shards;
    uint32_t n_shards;
};

/* A batch whose rows on a shard differ from what was sent, or records without a batch. */
struct sf_remote_fault {
    uint32_t shard; /* from 1 */
    uint64_t first_record, last_record;
    sf_str table;             /* empty: the shard has no batch with these records */
    uint64_t n_sent, n_found; /* rows of the table */
};

struct sf_remote_check {
    int64_t since_ns; /* time of receipt */
    uint64_t n_batches, n_rows, n_faults;
    const struct sf_remote_fault *faults; /* the first SF_REMOTE_FAULTS */
    uint32_t n_listed;
};

static inline sf_str sf_remote_table_name(size_t i)
{
    static const char *const names[SF_REMOTE_TABLES] = {"traces", "spans", "profiles", "aggregates",
                                                        "details"};
    return sf_str_from(names[i]);
}
