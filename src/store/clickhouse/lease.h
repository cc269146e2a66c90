/* lease.h - a lease for work that only one node of a fleet does at a time.
 *
 * A lease is a row of `leases` on the first shard. Terms are numbered. A term belongs to the node
 * whose row is the first with its number (first_row.h; the token consists of the name and the
 * term). The holder adds a row from time to time; when none came
 * for `ttl_ns` by the shard's clock, the next term may be taken. Clocks of nodes are not compared.
 * A node measures its own time from before its request, so it considers the lease expired earlier
 * than the shard does.
 *
 * Two nodes may still work at once, when one was paused in the middle of a statement: all work
 * under a lease can safely be done twice. */
#pragma once
#include "store/clickhouse/shard.h"

struct sf_lease {
    const char *name; /* a literal */
    int64_t ttl_ns;
    uint64_t term;         /* the last term of this node; 0: none */
    int64_t held_until_ns; /* monotonic; 0: not held */
};

/* Takes or renews the lease. `out` is false if another node has it. Returns what sf_shard_ask
 * returns. */
enum sf_err sf_lease_ask(struct sf_lease *l, struct sf_shard *first, const char *database,
                         const uint8_t node[16], bool *out, struct sf_why *why);
bool sf_lease_is_held(const struct sf_lease *l);
