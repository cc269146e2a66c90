/* operation_union.h - calls by service and operation over all nodes: `operations` of store.h.
 *
 * This node counts its own spans; the shards count those of the other nodes. A span that was sent
 * to two nodes counts twice. One query per shard. */
#pragma once
#include "store/clickhouse/remote_source.h"

enum sf_err sf_operation_union_read(const struct sf_remote_source *r, int64_t from_ns,
                                    int64_t to_ns, struct sf_query_ctx *q,
                                    struct sf_operation_rows *out, struct sf_why *why);
