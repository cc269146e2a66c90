/* seal.h - converts a memtable's rows into a part: encoded like a block, uncompressed, in memory.
 *
 * Searches need parts, a flush does not: rows are sealed when a search begins, and, while searches
 * continue, as they arrive, so that the next search has little to do. */
#pragma once
#include "store/local/engine.h"

/* Encodes the rows; the caller owns the run. NULL for an empty body. */
enum sf_err sf_seal_rows(struct sf_local *l, const struct sf_rowset *rows, uint64_t gen,
                         struct sf_run **out, struct sf_why *why);
/* Seals a body that was cut from `m` and adds the part to the snapshot. On failure the body stays
 * in the memtable's list, where it can be found, and the next flush tries again. */
enum sf_err sf_seal_body(struct sf_local *l, struct sf_memtable *m, struct sf_memtable_body *body,
                         struct sf_why *why);
/* Cuts and seals every memtable that holds rows older than `age_ns`. */
enum sf_err sf_seal_all(struct sf_local *l, int64_t age_ns, struct sf_why *why);
/* Call before reading the snapshot: then it contains all data acknowledged before the call, or
 * before the query began if that is given. If this fails, an answer would lack all data since the
 * last flush. The seal thread does the work: query threads have low priority and must not hold
 * locks that ingest waits for. It seals at most every tuning.seal_gap_ns; requests within that time
 * wait. The wait ends with the query: DEADLINE, CANCELLED. */
enum sf_err sf_seal_for_reader(struct sf_local *l, const struct sf_query_ctx *q,
                               struct sf_why *why);
/* Was there a search within the last seconds? */
bool sf_seal_is_wanted(struct sf_local *l);
void sf_seal_loop(void *local); /* the thread */
