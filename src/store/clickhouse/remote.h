/* remote.h - a local store whose data goes to ClickHouse, too. */
#pragma once
#include "store/clickhouse/remote_address.h"
#include "store/local/local_config.h"
#include "store/store.h"

struct sf_remote_config {
    struct sf_remote_address address;
    const char *user, *password, *ca_file; /* NULL: none; borrowed until close */
    int64_t interval_ns, timeout_ns;
    bool is_ack_remote; /* a batch counts as durable when every shard has it */
    uint64_t spool_len;
};

/* Opens the local store and starts to ship. ClickHouse need not be there: data waits. What
 * sf_local_open_store says; CORRUPT and INPUT of the state of shipping. */
enum sf_err sf_remote_open(const struct sf_local_config *local,
                           const struct sf_remote_config *config, struct sf_store **out,
                           struct sf_why *why);
