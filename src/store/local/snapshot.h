/* snapshot.h - the runs and tombstones that exist at one moment.
 *
 * Immutable and reference-counted: a reader's snapshot keeps its files, whatever flush, merge,
 * retention and erasure do meanwhile. A change makes a new snapshot and swaps the pointer under one
 * mutex. */
#pragma once
#include "store/local/run.h"
#include "store/local/tombstones.h"

struct sf_snapshot {
    atomic_uint refs;
    uint64_t version;       /* grows with every change */
    uint64_t erase_version; /* grows with every tombstone */
    struct sf_tombstones *tombstones;
    size_t n, cap;
    struct sf_run *runs[]; /* parts and blocks, oldest first */
};

struct sf_snapshots {
    struct sf_mutex lock; /* guards now; a leaf lock */
    struct sf_snapshot *now;
};

bool sf_snapshots_init(struct sf_snapshots *ss); /* false: no memory */
void sf_snapshots_done(struct sf_snapshots *ss);
struct sf_snapshot *sf_snapshot_take(struct sf_snapshots *ss);
void sf_snapshot_unref(struct sf_snapshot *s); /* NULL is fine */

/* One change: runs out, runs in (their reference is taken on success), tombstones replaced when
 * `has_tombstones` (likewise taken). NOMEM leaves everything as it was. */
struct sf_snapshot_change {
    struct sf_run *const *out;
    size_t n_out;
    struct sf_run *const *in;
    size_t n_in;
    bool has_tombstones, is_new_erasure;
    struct sf_tombstones *tombstones;
};
enum sf_err sf_snapshot_change(struct sf_snapshots *ss, const struct sf_snapshot_change *change,
                               struct sf_why *why);

/* The same in two steps, for changes after a commit, which must not fail: first allocates memory,
 * with space for runs that others may add meanwhile; then applies the change with it. NULL: no
 * memory. */
struct sf_snapshot *sf_snapshot_prepare(struct sf_snapshots *ss, size_t n_in);
void sf_snapshot_apply(struct sf_snapshots *ss, const struct sf_snapshot_change *change,
                       struct sf_snapshot *room);
