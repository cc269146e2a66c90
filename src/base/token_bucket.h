/* token_bucket.h - a rate with a burst, in whole numbers.
 *
 * A bucket holds at most `burst` tokens and gains `rate` of them a second. It is open while it
 * holds any. A request may take more than there is; then the bucket is closed until the debt is
 * paid. So a single large request is always possible, and over a long time at most rate x time +
 * burst + one request passes. The level counts billionths of a token: a nanosecond adds `rate` of
 * them, and nothing is rounded. One thread at a time. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Maximum of rates, bursts and single amounts: in billionths they fit 63 bits together with the
 * debt. */
#define SF_TOKEN_MAX UINT64_C(4000000000)

struct sf_token_bucket {
    int64_t level; /* billionths of a token; below 0: a debt */
    int64_t at_ns; /* monotonic time of `level`; 0: never used, which is full */
};

struct sf_token_rate {
    uint64_t rate, burst; /* 1 to SF_TOKEN_MAX; rate 0: no limit */
};

/* Brings the level up to `now_ns`; a clock that goes back adds nothing. */
void sf_token_bucket_fill(struct sf_token_bucket *b, struct sf_token_rate r, int64_t now_ns);
/* After a fill. */
static inline bool sf_token_bucket_is_open(const struct sf_token_bucket *b, struct sf_token_rate r)
{
    return r.rate == 0 || b->level > 0;
}
/* A full bucket is equal to a new one and may be forgotten. To be called after a fill. */
bool sf_token_bucket_is_full(const struct sf_token_bucket *b, struct sf_token_rate r);
void sf_token_bucket_take(struct sf_token_bucket *b, uint64_t n);
/* Returns tokens that were not used; never above the burst. */
void sf_token_bucket_give(struct sf_token_bucket *b, struct sf_token_rate r, uint64_t n);
/* Whole seconds until it is open, at least 1. To be called after a fill that found it closed. */
unsigned sf_token_bucket_wait_s(const struct sf_token_bucket *b, struct sf_token_rate r);
