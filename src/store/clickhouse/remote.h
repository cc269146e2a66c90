/* remote.h - a local store whose data is also shipped to ClickHouse. */
#pragma once
#include "store/clickhouse/remote_address.h"
#include "store/local/local_config.h"
#include "store/store.h"

struct sf_remote_config {
    struct sf_remote_address address;
    const char *user, *password, *ca_file; /* NULL: none; borrowed until close */
    int64_t interval_ns, timeout_ns;
    bool is_ack_remote; /* a batch is acknowledged only when every shard has it */
    uint64_t spool_len;
    uint64_t memory_len;           /* that a statement may take on a shard */
    const char *const *attributes; /* attr_columns.h; borrowed until close */
    uint32_t n_attributes;
};

/* Opens the local store and starts the shipper. ClickHouse may be unreachable: data waits. Errors
 * of sf_local_open_store; CORRUPT and INPUT for the shipping state. */
enum sf_err sf_remote_open(const struct sf_local_config *local,
                           const struct sf_remote_config *config, struct sf_store **out,
                           struct sf_why *why);
