/* catalogue.h - the existing blocks, the log position they cover, and the tenants.
 *
 * One SQLite file, meta.db (journal WAL, synchronous FULL). A transaction here is the commit point
 * of every flush, merge and erasure. Calls are serialised inside; any thread. docs/format-store.md
 * describes the tables. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct sf_dir;
struct sf_catalogue;

enum sf_block_kind { SF_BLOCK_SPANS = 1, SF_BLOCK_PROFILES = 2 }; /* stored: never renumber */
enum sf_block_state { SF_BLOCK_LIVE = 1, SF_BLOCK_DEAD = 2, SF_BLOCK_BAD = 3 };

struct sf_block_row {
    uint64_t id;
    uint32_t tenant; /* 0: several */
    uint8_t kind, level, state, tier;
    int64_t day; /* since 1970 */
    int64_t ts_min_ns, ts_max_ns;
    uint64_t n_rows, len;
    uint64_t lsn_lo, lsn_hi, flush_no;
    int64_t created_ns;
    char path[64]; /* below the data directory */
};

struct sf_catalogue_meta {
    uint8_t uuid[16];
    uint64_t ckpt_lsn, next_block, next_flush;
    uint64_t log_sequence, log_lsn; /* the newest segment of the log and its first record; 0 before
                                       the first one was recorded */
    int64_t retention_now_ns;
};

/* Opens or creates meta.db. `out_is_new`: it has no uuid row (missing, lost or empty): the caller
 * rebuilds and then calls sf_catalogue_begin(). A file that is not a database, or fails its
 * checksums, is moved to orphan/ and counts as lost. */
enum sf_err sf_catalogue_open(struct sf_dir *dir, bool is_read_only, struct sf_catalogue **out,
                              bool *out_is_new, struct sf_why *why);
void sf_catalogue_close(struct sf_catalogue *c); /* NULL is fine */

/* The first transaction of a new or rebuilt catalogue: uuid and counters, with the blocks found. */
enum sf_err sf_catalogue_begin(struct sf_catalogue *c, const struct sf_catalogue_meta *meta,
                               const struct sf_block_row *blocks, size_t n, struct sf_why *why);
enum sf_err sf_catalogue_meta(struct sf_catalogue *c, struct sf_catalogue_meta *out,
                              struct sf_why *why);
/* Calls `see` for each block; it must not call back. */
enum sf_err sf_catalogue_blocks(struct sf_catalogue *c,
                                bool (*see)(void *arg, const struct sf_block_row *row), void *arg,
                                struct sf_why *why);

/* One transaction: new blocks live, old ones dead, the checkpoint (0: unchanged) and counters. */
struct sf_catalogue_change {
    const struct sf_block_row *add;
    size_t n_add;
    const uint64_t *dead_ids;
    size_t n_dead;
    uint64_t ckpt_lsn, next_block, next_flush;
};
enum sf_err sf_catalogue_commit(struct sf_catalogue *c, const struct sf_catalogue_change *change,
                                struct sf_why *why);
enum sf_err sf_catalogue_forget(struct sf_catalogue *c, uint64_t id, struct sf_why *why);
/* Records that a segment of the log is about to be begun. */
enum sf_err sf_catalogue_set_log(struct sf_catalogue *c, uint64_t sequence, uint64_t first_lsn,
                                 struct sf_why *why);
enum sf_err sf_catalogue_set_now(struct sf_catalogue *c, int64_t retention_now_ns,
                                 struct sf_why *why);

/* Tenants. */
enum sf_err sf_catalogue_tenants(struct sf_catalogue *c,
                                 bool (*see)(void *arg, uint32_t id, sf_str name), void *arg,
                                 struct sf_why *why);
enum sf_err sf_catalogue_add_tenant(struct sf_catalogue *c, uint32_t id, sf_str name,
                                    struct sf_why *why);

/* Tombstones: `selector` is the encoding of erase.h. */
enum sf_err sf_catalogue_erasures(struct sf_catalogue *c,
                                  bool (*see)(void *arg, uint64_t id, uint32_t tenant,
                                              sf_bytes selector, uint64_t below_block, uint64_t lsn,
                                              int64_t created_ns),
                                  void *arg, struct sf_why *why);
enum sf_err sf_catalogue_add_erasure(struct sf_catalogue *c, uint64_t id, uint32_t tenant,
                                     sf_bytes selector, uint64_t below_block, uint64_t lsn,
                                     int64_t created_ns, struct sf_why *why);
/* Also removes its bytes from the file and its journal. */
enum sf_err sf_catalogue_end_erasure(struct sf_catalogue *c, uint64_t id, struct sf_why *why);

/* SQLite's own check and the sums of the rows; `say` gets a sentence per finding. */
enum sf_err sf_catalogue_verify(struct sf_catalogue *c,
                                void (*say)(void *arg, const char *sentence), void *arg,
                                uint64_t *io_n_faults, struct sf_why *why);
