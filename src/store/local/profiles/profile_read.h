/* profile_read.h - all profiles of some tenants, wherever they are: in memory and in blocks.
 *
 * A query walks sources, one service of one memory or block each, and takes from each what it
 * needs. What a source gives lives in the walk's scratch until the next source; its size is counted
 * as the query's. */
#pragma once
#include "block/profile/profile_block_reader.h"
#include "store/local/engine.h"
#include "store/local/profiles/profile_mem.h"
#include "store/local/profiles/profile_select.h"
#include "store/local/read/pace.h"

struct sf_profile_read_source {
    uint32_t tenant;
    sf_str service;
    const struct sf_profile_set *set; /* in memory, its lock held; or */
    const struct sf_profile_block_reader *reader;
    uint32_t number; /* of the service in the block */
    uint64_t block_id;
    const struct sf_tombstones *tombstones; /* NULL: none touches it */
    const struct sf_profile_series *series;
    const struct sf_process *processes;
    const struct sf_profile_row *rows;
    const int64_t *starts; /* of rows: where they belong; NULL: at their times */
    const bool *is_alone;  /* beside starts: only the sum of its slot is left */
    struct sf_profile_symbols symbols;
    struct sf_profile_places places;         /* of a block */
    const struct sf_profile_thread *threads; /* sorted by process and thread */
    uint32_t n_series, n_processes, n_rows, n_threads;
};

struct sf_profile_walk {
    struct sf_local *l;
    struct sf_query_ctx *q;
    const struct sf_profile_select *select; /* services and series; may be NULL */
    int64_t from_ns, to_ns;                 /* sources that may overlap; 0 and 0: all */
    struct sf_arena scratch;
    size_t counted_len;
    struct sf_pace pace; /* in bytes of blocks */
};

/* Calls `see` for each source with its series loaded. Damaged blocks are quarantined, skipped, and
 * make the answer inexact. */
enum sf_err sf_profile_read_run(struct sf_profile_walk *w,
                                enum sf_err (*see)(void *arg, struct sf_profile_walk *w,
                                                   struct sf_profile_read_source *s,
                                                   struct sf_why *why),
                                void *arg, struct sf_why *why);

/* Where a profile of the source belongs. */
static inline int64_t sf_profile_source_start(const struct sf_profile_read_source *s, uint32_t row)
{
    return s->starts ? s->starts[row] : s->rows[row].time_ns;
}

/* Loads more of a source into the walk's scratch. */
enum sf_err sf_profile_read_source_rows(struct sf_profile_walk *w, struct sf_profile_read_source *s,
                                        struct sf_why *why);
enum sf_err sf_profile_read_source_symbols(struct sf_profile_walk *w,
                                           struct sf_profile_read_source *s, struct sf_why *why);
enum sf_err sf_profile_read_source_places(struct sf_profile_walk *w,
                                          struct sf_profile_read_source *s, struct sf_why *why);
enum sf_err sf_profile_read_source_threads(struct sf_profile_walk *w,
                                           struct sf_profile_read_source *s, struct sf_why *why);
/* Is it hidden by an erasure? */
bool sf_profile_read_source_hides(const struct sf_profile_read_source *s, sf_trace_id trace,
                                  int64_t at_ns);
/* Tells the budget, and asks whether the query may continue. */
enum sf_err sf_profile_read_check(struct sf_profile_walk *w, struct sf_why *why);
/* Is the profile in the time, of the process, among those requested by their ids, and not erased?
 * The answer is not exact when only the sum of a slot is left that the time cuts. */
bool sf_profile_read_source_is_asked(const struct sf_prof_query *query, struct sf_query_ctx *q,
                                     const struct sf_profile_read_source *s, uint32_t row);
/* Sources that may have profiles of the query. */
void sf_profile_read_range(struct sf_profile_walk *w, const struct sf_prof_query *query);
