#include "store/clickhouse/shard_absence.h"

#include "os/clock.h"

#define FIRST_PROBE_NS SF_NS_PER_S
#define PROBE_AGAIN_NS (5 * SF_NS_PER_S)

void sf_shard_absence_init(struct sf_shard_absence *a)
{
    *a = (struct sf_shard_absence){0};
    sf_mutex_init(&a->lock, SF_LOCK_STORE_ABSENCE);
}

void sf_shard_absence_done(struct sf_shard_absence *a)
{
    sf_mutex_done(&a->lock);
}

bool sf_shard_absence_is_away(struct sf_shard_absence *a, uint32_t shard)
{
    bool is_away;
    sf_mutex_lock(&a->lock);
    is_away = a->shards[shard].is_away;
    sf_mutex_unlock(&a->lock);
    return is_away;
}

void sf_shard_absence_note(struct sf_shard_absence *a, uint32_t shard, int64_t limit_ns)
{
    if (limit_ns && limit_ns < SF_SHARD_PROBE_NS)
        return;
    sf_mutex_lock(&a->lock);
    if (!a->shards[shard].is_away) /* soon, but not in the same request: perhaps only this query was
                                    * slow */
        a->shards[shard].probe_ns = sf_clock_mono_ns() + FIRST_PROBE_NS;
    a->shards[shard].is_away = true;
    sf_mutex_unlock(&a->lock);
}

bool sf_shard_absence_begin_probe(struct sf_shard_absence *a, uint32_t shard)
{
    int64_t now_ns = sf_clock_mono_ns();
    bool is_ours;
    sf_mutex_lock(&a->lock);
    is_ours = a->shards[shard].is_away && now_ns >= a->shards[shard].probe_ns;
    if (is_ours)
        a->shards[shard].probe_ns = now_ns + PROBE_AGAIN_NS;
    sf_mutex_unlock(&a->lock);
    return is_ours;
}

void sf_shard_absence_end_probe(struct sf_shard_absence *a, uint32_t shard, bool is_answered)
{
    sf_mutex_lock(&a->lock);
    if (is_answered)
        a->shards[shard].is_away = false;
    else
        a->shards[shard].probe_ns = sf_clock_mono_ns() + PROBE_AGAIN_NS;
    sf_mutex_unlock(&a->lock);
}
