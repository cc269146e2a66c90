/* profile_read.h - reads all profiles of some tenants, in memory and in blocks.
 *
 * A query visits sources, each of which is one service of one memory or block. Data of a source is
 * in the walk's scratch until the next source; its size is counted for the query. */
#pragma once
#include "block/profile/profile_block_reader.h"
#include "store/local/engine.h"
#include "store/local/profiles/profile_mem.h"
#include "store/local/profiles/profile_select.h"
#include "store/local/read/pace.h"

struct sf_profile_read_source {
    uint32_t tenant;
    sf_str service;
    const struct sf_profile_set *set; /* if in memory, with its lock held; otherwise: */
    const struct sf_profile_block_reader *reader;
    uint32_t number; /* of the service in the block */
    uint64_t block_id;
    const struct sf_tombstones *tombstones; /* NULL: none applies to it */
    const struct sf_profile_series *series;
    const struct sf_process *processes;
    const struct sf_profile_row *rows;
    const int64_t *starts; /* by row: the time at which it counts; NULL: its own time */
    const bool *is_alone;  /* by row, set with `starts`: only the sum of its slot is left */
    struct sf_profile_symbols symbols;
    struct sf_profile_places places;         /* of a block */
    const struct sf_profile_thread *threads; /* sorted by process and thread */
    uint32_t n_series, n_processes, n_rows, n_threads;
};

struct sf_profile_walk {
    struct sf_local *l;
    struct sf_query_ctx *q;
    const struct sf_profile_select *select; /* services and series; may be NULL */
    int64_t from_ns, to_ns;                 /* only sources that may overlap; 0 and 0: all */
    struct sf_arena scratch;
    size_t counted_len;
    struct sf_pace pace; /* progress in bytes of blocks */
};

/* Calls `see` for each source, with its series loaded. Damaged blocks are quarantined and skipped,
 * and make the answer inexact. */
enum sf_err sf_profile_read_run(struct sf_profile_walk *w,
                                enum sf_err (*see)(void *arg, struct sf_profile_walk *w,
                                                   struct sf_profile_read_source *s,
                                                   struct sf_why *why),
                                void *arg, struct sf_why *why);

/* The time at which a profile of the source counts. */
static inline int64_t sf_profile_source_start(const struct sf_profile_read_source *s, uint32_t row)
{
    return s->starts ? s->starts[row] : s->rows[row].time_ns;
}

/* Load more data of a source into the walk's scratch. */
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
/* Updates the budget, and checks whether the query may continue. */
enum sf_err sf_profile_read_check(struct sf_profile_walk *w, struct sf_why *why);
/* Does the query select the profile, by time, process and ids, and is it not erased? Marks the
 * answer as not exact if only the sum of a slot is left and the time range cuts it. */
bool sf_profile_read_source_is_asked(const struct sf_prof_query *query, struct sf_query_ctx *q,
                                     const struct sf_profile_read_source *s, uint32_t row);
/* Selects the sources that may have profiles of the query. */
void sf_profile_read_range(struct sf_profile_walk *w, const struct sf_prof_query *query);
