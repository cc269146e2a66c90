/* parted.h - which traces of a run also have rows in other runs?
 *
 * Found by comparing the sorted trace indexes of the runs, which have 32 bits of the ids' hashes: a
 * trace may be reported wrongly, but none is missed. Runs further away than the maximum length of a
 * trace (SF_PARTED_GAP_NS) are not compared. */
#pragma once
#include "base/time_unit.h"
#include "store/local/engine.h"

#define SF_PARTED_GAP_NS SF_NS_PER_HOUR

struct sf_parted {
    uint8_t **bits; /* by run of the snapshot: a bit per trace of the run; NULL: no bit is set */
    size_t *lens;   /* bytes of each */
    size_t n;
};

/* Compares the runs that overlap [from, to] (0 and 0: all) and their neighbours in time. */
enum sf_err sf_parted_find(struct sf_parted *p, const struct sf_snapshot *s, int64_t from_ns,
                           int64_t to_ns, struct sf_query_ctx *q, struct sf_arena scratch,
                           struct sf_why *why);
void sf_parted_done(struct sf_parted *p); /* a zeroed one is fine */
static inline bool sf_parted_has(const struct sf_parted *p, size_t run, uint64_t trace)
{
    return p->bits && p->bits[run] && (p->bits[run][trace / 8] >> (trace % 8) & 1);
}
