/* shard_absence.h - which shards did not answer a query in time, so that the next requests do not
 * wait for them, too.
 *
 * After a query that ended without an answer, the shard has to answer a short probe before it gets
 * other queries. While it does not, one request every few seconds sends a probe, and the others
 * leave the shard out at once. A refused connection takes no time and is not noted. Threads share
 * it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/time_unit.h"
#include "os/thread.h"
#include "store/clickhouse/remote_address.h"

#define SF_SHARD_PROBE_NS (2 * SF_NS_PER_S) /* time for the answer to a probe */

struct sf_shard_absence {
    struct sf_mutex lock; /* guards what follows; a leaf lock */
    struct {
        bool is_away;
        int64_t probe_ns; /* monotonic: the next probe */
    } shards[SF_REMOTE_SHARDS];
};

void sf_shard_absence_init(struct sf_shard_absence *a);
void sf_shard_absence_done(struct sf_shard_absence *a);

bool sf_shard_absence_is_away(struct sf_shard_absence *a, uint32_t shard);
/* A query had `limit_ns` (0: the configured timeout) and no answer. Ignored when that is less than
 * a probe has. */
void sf_shard_absence_note(struct sf_shard_absence *a, uint32_t shard, int64_t limit_ns);
/* True: the caller sends the probe now; no other thread does for some seconds. */
bool sf_shard_absence_begin_probe(struct sf_shard_absence *a, uint32_t shard);
void sf_shard_absence_end_probe(struct sf_shard_absence *a, uint32_t shard, bool is_answered);
