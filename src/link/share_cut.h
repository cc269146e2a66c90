/* share_cut.h - a whole number cut into shares that always add up to it.
 *
 * Part k is round(V * S_k) - round(V * S_(k-1)), S the share of the first k parts: each is off by
 * less than one, and what rounding takes from one part it gives to the next. */
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

/* The last part, whatever the shares came to. */
static inline int64_t sf_share_cut_rest(struct sf_share_cut *c)
{
    int64_t mine = c->value - c->given;
    c->given = c->value;
    return mine;
}
