/* share_cut.h - divides a whole number into shares that always sum up to it.
 *
 * Part k is round(V * S_k) - round(V * S_(k-1)), where S is the share of the first k parts: each
 * has an error below one, and rounding errors are carried to the next part. */
#pragma once
#include <math.h>
#include <stdint.h>

struct sf_share_cut {
    int64_t value, given;
    double share; /* of the parts so far */
};

static inline int64_t sf_share_cut_next(struct sf_share_cut *c, double part)
{
    c->share += part;
    int64_t upto = llround((double)c->value * (c->share < 1 ? c->share : 1));
    int64_t mine = upto - c->given;
    c->given = upto;
    return mine;
}

/* The last part: all that is left. */
static inline int64_t sf_share_cut_rest(struct sf_share_cut *c)
{
    int64_t mine = c->value - c->given;
    c->given = c->value;
    return mine;
}
