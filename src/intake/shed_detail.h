/* shed_detail.h - under load, removes the detail of samples.
 *
 * A sample without ids and times counts in its service's sums and needs no detail row. A profile
 * uploaded for one request consists of detail only: it is refused, because in the sums it would be
 * attributed to other requests. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/pressure.h"
#include "model/profile.h"

struct sf_recent_traces; /* intake/recent_traces.h */

struct sf_shed_detail {
    enum sf_pressure level;
    struct sf_recent_traces *recent; /* NULL: no traces are remembered */
    sf_str tenant;
};

struct sf_shed_counts { /* samples */
    uint64_t n_baseline, n_other;
    bool is_of_request; /* with BUSY: the profile belongs to one request and was refused */
};

/* `p` gets a new list of samples in `req` when something changes. LIMIT: `req` is full; BUSY: a
 * profile of one request. */
enum sf_err sf_shed_detail(const struct sf_shed_detail *how, struct sf_arena *req,
                           struct sf_profile_batch *p, struct sf_shed_counts *io,
                           struct sf_why *why);
