/* run.h - one immutable run of rows with a reader: a part in memory or a block on disk.
 *
 * Reference-counted. The reader of a part exists as long as the part. The reader of a block is
 * opened when first requested, and its tables are decoded on demand; it is closed when the limit of
 * open blocks is reached and it is not in use (find_victim() chooses). A block that was replaced or
 * expired is put on the list of dead blocks when its last reference is dropped; the compact thread
 * deletes its file. Thread-safe. */
#pragma once
#include <stdatomic.h>

#include "base/buf.h"
#include "os/thread.h"
#include "store/local/budget.h"
#include "store/local/files/catalogue.h"

struct sf_dir;
struct sf_span_block_reader;
struct sf_profile_block_reader;
struct sf_value_summary;
struct sf_runs;
struct sf_partials;
struct sf_doubles;

struct sf_run {
    atomic_uint refs;
    struct sf_runs *home;
    /* id 0: a part; times, rows, length and lsn_hi (0: unknown) are also set for parts */
    struct sf_block_row row;
    uint64_t gen;            /* of a part: the generation whose flush writes it */
    atomic_bool is_dead;     /* its file is deleted after the last reference is dropped */
    atomic_bool is_bad;      /* quarantined: no query reads it */
    atomic_bool is_compared; /* compared with all runs before it: long_traces.h */
    atomic_bool is_aged;     /* profiles: nothing is left to remove by age, or removal failed */
    atomic_bool is_thinned;  /* profiles: no verdict is left to apply, or that failed */
    /* Reduced to the data kept longer, for this version of the pins. */
    atomic_uint_fast64_t outlive_mark;
    atomic_bool is_alone; /* has too many traces or stacks to be merged with others again */
    atomic_uint_fast64_t merge_len, merge_slot_len; /* profiles: profile_merge_size.c; 0: unknown */
    /* Guards the six below. Held while the file is opened, so that only readers of this block
     * wait; a leaf lock. While sf_runs.lock is held, it is only tried. */
    struct sf_mutex lock;
    struct sf_span_block_reader *reader;      /* of spans, or */
    struct sf_profile_block_reader *profiles; /* of profiles */
    unsigned n_users;
    size_t reader_len;
    struct sf_value_summary *summary; /* of a block of spans: made when its tables are first read */
    bool has_tried_summary;
    /* The remaining fields are guarded by sf_runs.lock. */
    uint64_t used_at;
    uint64_t n_uses; /* halved from time to time, also while the block is closed */
    uint64_t n_uses_at;
    size_t listed_len;                    /* reader_len as counted in the list */
    bool is_kept;                         /* class of readers that were used repeatedly */
    struct sf_run *next_open, *prev_open; /* list of open readers */
    struct sf_run *next_dead;
    bool is_listed;
};

enum { SF_RUN_TRACE_LEN = 48 }; /* memory that merging takes for each trace of a part */

struct sf_runs { /* shared by all runs of one store */
    struct sf_dir *dir;
    struct sf_budget *budget;
    struct sf_partials *partials; /* cached results of granules; may be NULL */
    struct sf_doubles *doubles;   /* cached comparisons of blocks; may be NULL */
    void (*notice)(void *arg, const char *sentence);
    void *notice_arg;
    uint8_t uuid[16];
    /* Guards all below but the last; a leaf lock, except that it tries the lock of a run. */
    struct sf_mutex lock;
    struct sf_run *open;
    size_t open_len[2]; /* of open readers: fresh, kept */
    struct sf_run *dead;
    uint64_t tick;
    uint64_t n_loads; /* how often tables were decoded */
    atomic_uint_fast64_t n_bad;
    atomic_size_t summaries_len; /* memory of the runs' summaries */
};

void sf_runs_init(struct sf_runs *rs, struct sf_dir *dir, struct sf_budget *budget);
void sf_runs_done(struct sf_runs *rs);

/* Makes a part from the bytes of an uncompressed block, which it takes over on success. `text_len`:
 * of its distinct texts. */
enum sf_err sf_run_new_part(struct sf_runs *rs, struct sf_buf *bytes, uint64_t gen,
                            int64_t ts_min_ns, int64_t ts_max_ns, size_t text_len,
                            struct sf_run **out, struct sf_why *why);
struct sf_run *sf_run_new_block(struct sf_runs *rs,
                                const struct sf_block_row *row); /* NULL: NOMEM */
/* Marks runs made by a merge as compared if all inputs were. */
void sf_runs_inherit(struct sf_run *const *from, size_t n_from, struct sf_run *const *to,
                     size_t n_to);
struct sf_run *sf_run_ref(struct sf_run *r);
void sf_run_unref(struct sf_run *r); /* NULL is fine */
static inline bool sf_run_is_part(const struct sf_run *r)
{
    return r->row.id == 0;
}

/* Returns the reader with these tables (enum sf_block_tables), valid until sf_run_leave(). A
 * damaged block is quarantined: CORRUPT. */
enum sf_err sf_run_enter(struct sf_run *r, unsigned tables, const struct sf_span_block_reader **out,
                         struct sf_why *why);
/* The same for a block of profiles. */
enum sf_err sf_run_enter_profiles(struct sf_run *r, const struct sf_profile_block_reader **out,
                                  struct sf_why *why);
/* The summary of a block of spans, which lives as long as the run. NULL: its tables were not read
 * yet, or there is no space for it. */
const struct sf_value_summary *sf_run_summary(struct sf_run *r);
void sf_run_leave(struct sf_run *r);
/* Takes a damaged block out of use and reports it once. */
void sf_run_quarantine(struct sf_run *r, const char *sentence);

/* Takes the list of dead blocks without references; the caller frees each with sf_run_free(). */
struct sf_run *sf_runs_take_dead(struct sf_runs *rs);
void sf_run_free(struct sf_run *r);
