/* lease.h - work that one node of a fleet does at a time, whichever it is.
 *
 * A lease is a row of `leases` on the first shard. Terms are numbered. A term belongs to the node
 * whose row is the first with its number: ClickHouse stores one insert for each token, and the
 * token is the name and the term. The node adds a row now and then; when none came for `ttl_ns` by
 * the shard's clock, the next term may be taken. Clocks of nodes are not compared. A node counts
 * its own time from before it asked, and takes the lease for over earlier than the shard does.
 *
 * Two nodes may still work at once, when one was stopped in the middle of a statement: all work
 * under a lease can be done twice. */
#pragma once
#include "store/clickhouse/shard.h"

struct sf_lease {
    const char *name; /* a literal */
    int64_t ttl_ns;
    uint64_t term;         /* that this node had last; 0: none */
    int64_t held_until_ns; /* monotonic; 0: it is not held */
};

/* Takes or renews it. False in `out`: another node has it. What sf_shard_ask says. */
enum sf_err sf_lease_ask(struct sf_lease *l, struct sf_shard *first, const char *database,
                         const uint8_t node[16], bool *out, struct sf_why *why);
bool sf_lease_is_held(const struct sf_lease *l);
