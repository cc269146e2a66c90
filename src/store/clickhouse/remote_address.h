/* remote_address.h - the address of ClickHouse: store.remote.url, parsed.
 *
 *     clickhouse://HOST:PORT,HOST:PORT/DATABASE     also http:// and https://
 *
 * Each HOST:PORT is the HTTP interface of one shard. Their order must not change: the hash of a
 * trace's id selects its shard by position in this list. */
#pragma once
#include "base/err.h"
#include "base/str.h"

enum { SF_REMOTE_SHARDS = 64, SF_REMOTE_HOST_CAP = 300, SF_REMOTE_DATABASE_CAP = 64 };

struct sf_remote_address {
    char shards[SF_REMOTE_SHARDS][SF_REMOTE_HOST_CAP]; /* "http://host:8123" */
    uint32_t n_shards;
    char database[SF_REMOTE_DATABASE_CAP];
};

/* INPUT, with the reason in `why`. */
enum sf_err sf_remote_address_parse(sf_str url, struct sf_remote_address *out, struct sf_why *why);
