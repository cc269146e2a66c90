/* remote_address.h - where ClickHouse is: store.remote.url in parts.
 *
 *     clickhouse://HOST:PORT,HOST:PORT/DATABASE     also http:// and https://
 *
 * Each HOST:PORT is the HTTP interface of one shard, and their order is part of the data: a trace
 * goes to the shard that its id's hash names by place. */
#pragma once
#include "base/err.h"
#include "base/str.h"

enum { SF_REMOTE_SHARDS = 64, SF_REMOTE_HOST_CAP = 300, SF_REMOTE_DATABASE_CAP = 64 };

struct sf_remote_address {
    char shards[SF_REMOTE_SHARDS][SF_REMOTE_HOST_CAP]; /* "http://host:8123" */
    uint32_t n_shards;
    char database[SF_REMOTE_DATABASE_CAP];
};

/* INPUT, with what is wrong. */
enum sf_err sf_remote_address_parse(sf_str url, struct sf_remote_address *out, struct sf_why *why);
