/* shed_detail.h - under load, samples are taken without their detail.
 *
 * A sample without ids and without a time of its own counts in its service's sums and makes no row.
 * What was uploaded for one request is nothing but detail: it is refused as a whole, because in the
 * sums it would be attributed to others. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/pressure.h"
#include "model/profile.h"

struct sf_recent_traces; /* intake/recent_traces.h */

struct sf_shed_detail {
    enum sf_pressure level;
    struct sf_recent_traces *recent; /* NULL: no trace is known */
    sf_str tenant;
};

struct sf_shed_counts { /* samples */
    uint64_t n_baseline, n_other;
};

/* `p` gets a list of samples of its own in `req` when something changes. LIMIT: `req` is full;
 * BUSY: a profile of one request. */
enum sf_err sf_shed_detail(const struct sf_shed_detail *how, struct sf_arena *req,
                           struct sf_profile_batch *p, struct sf_shed_counts *io,
                           struct sf_why *why);
