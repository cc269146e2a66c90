/* local.h - the embedded store: everything in one data directory, one server at a time. */
#pragma once
#include "store/local/local_config.h"
#include "store/local/local_stats.h"
#include "store/store.h"

struct sf_wal;

extern const struct sf_store_ops sf_store_local_ops;

/* Recovers and replays before it returns. Fails with IO, CORRUPT (foreign directory), BUSY (another
 * server uses it), NOMEM. A damaged block is not a failure: it is quarantined, and answers that may
 * be affected are marked as not exact. */
enum sf_err sf_local_open_store(const struct sf_local_config *config, struct sf_store **out,
                                struct sf_why *why);
/* For a store opened by sf_local_open_store(). */
void sf_local_figures_stats(struct sf_store *s, struct sf_local_stats *out);

/* ---- for a store that stands on this one (store/clickhouse) ----
 *
 * Its operations replace ours one by one, and find their own state as the wrapper. */
void sf_local_wrap(struct sf_store *s, const struct sf_store_ops *ops, void *wrapper);
void *sf_local_wrapper(struct sf_store *s); /* NULL: there is none */
struct sf_wal *sf_local_log(struct sf_store *s);
const uint8_t *sf_local_uuid(const struct sf_store *s); /* 16 bytes */
size_t sf_local_memory_len(const struct sf_store *s);   /* the whole memory budget */
/* Borrowed until close. False: the number is not assigned. */
bool sf_local_tenant_name(struct sf_store *s, uint32_t tenant, sf_str *out);
/* True: the store has a pin with the same trace, end, creation time and note. */
bool sf_local_is_pinned(struct sf_store *s, const struct sf_pin *pin);
/* The rules in force, and the current time that retention uses. False: the clock is ahead, and
 * nothing is deleted by age. */
bool sf_local_retention(struct sf_store *s, struct sf_retention *out, int64_t *out_now_ns);
/* The rules by which an hour is judged: version, since_hour and rules of `out`, in `req`.
 * NOT_FOUND: it is not judged. */
enum sf_err sf_local_keep_rules(struct sf_store *s, int64_t hour, struct sf_arena *req,
                                struct sf_keep_due *out, struct sf_why *why);

/* Checks everything in a data directory without changing it: catalogue, blocks with every checksum
 * and column, log. `say` gets one sentence per finding. Fails only when it cannot examine all;
 * BUSY: a server uses the directory. */
enum sf_err sf_local_fsck(struct sf_dir *dir, void (*say)(void *arg, const char *sentence),
                          void *arg, uint64_t *out_n_faults, struct sf_why *why);
