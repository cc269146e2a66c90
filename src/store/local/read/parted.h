/* parted.h - which traces of a run have rows in other runs too?
 *
 * Found by merging the runs' sorted trace indexes, which compares 32 bits of the ids' hashes: a
 * trace may be called parted that is not, never the other way round. Runs further away than any
 * trace is long (SF_PARTED_GAP_NS) are not asked. */
#pragma once
#include "base/time_unit.h"
#include "store/local/engine.h"

#define SF_PARTED_GAP_NS SF_NS_PER_HOUR

struct sf_parted {
    uint8_t **bits; /* by place in the snapshot: a bit per trace of the block; NULL: none is */
    size_t *lens;   /* bytes of each */
    size_t n;
};

/* Asks the runs that overlap [from, to] (0 and 0: all) and their neighbours in time. */
enum sf_err sf_parted_find(struct sf_parted *p, const struct sf_snapshot *s, int64_t from_ns,
                           int64_t to_ns, struct sf_query_ctx *q, struct sf_arena scratch,
                           struct sf_why *why);
void sf_parted_done(struct sf_parted *p); /* a zeroed one is fine */
static inline bool sf_parted_has(const struct sf_parted *p, size_t run, uint64_t trace)
{
    return p->bits && p->bits[run] && (p->bits[run][trace / 8] >> (trace % 8) & 1);
}
