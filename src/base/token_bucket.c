#include "base/token_bucket.h"

#include "base/time_unit.h"

enum { MOST_S = 86400 };

static int64_t cap_of(struct sf_token_rate r)
{
    return (int64_t)r.burst * SF_NS_PER_S;
}

void sf_token_bucket_fill(struct sf_token_bucket *b, struct sf_token_rate r, int64_t now_ns)
{
    __int128 level = b->level;
    if (r.rate == 0)
        return;
    if (b->at_ns == 0)
        level = cap_of(r);
    else if (now_ns > b->at_ns)
        level += (__int128)(now_ns - b->at_ns) * (__int128)r.rate;
    if (level > cap_of(r))
        level = cap_of(r);
    b->level = (int64_t)level; /* at most the burst, and never less than before */
    if (b->at_ns == 0 || now_ns > b->at_ns)
        b->at_ns = now_ns;
}

bool sf_token_bucket_is_full(const struct sf_token_bucket *b, struct sf_token_rate r)
{
    return r.rate == 0 || b->at_ns == 0 || b->level >= cap_of(r);
}

void sf_token_bucket_take(struct sf_token_bucket *b, uint64_t n)
{
    __int128 level = (__int128)b->level -
                     (__int128)(n < SF_TOKEN_MAX ? n : SF_TOKEN_MAX) * SF_NS_PER_S;
    b->level = level < INT64_MIN ? INT64_MIN : (int64_t)level;
}

void sf_token_bucket_give(struct sf_token_bucket *b, struct sf_token_rate r, uint64_t n)
{
    __int128 level = (__int128)b->level +
                     (__int128)(n < SF_TOKEN_MAX ? n : SF_TOKEN_MAX) * SF_NS_PER_S;
    if (r.rate && b->at_ns)
        b->level = level > cap_of(r) ? cap_of(r) : (int64_t)level;
}

unsigned sf_token_bucket_wait_s(const struct sf_token_bucket *b, struct sf_token_rate r)
{
    uint64_t debt = b->level > 0 ? 0 : (uint64_t)0 - (uint64_t)b->level, wait_s;
    if (r.rate == 0)
        return 1;
    /* The bucket opens when the level exceeds 0 by one billionth; each second adds rate x 10^9 of
     * them. */
    wait_s = debt / ((uint64_t)SF_NS_PER_S * r.rate) + 1;
    return wait_s < MOST_S ? (unsigned)wait_s : (unsigned)MOST_S;
}
