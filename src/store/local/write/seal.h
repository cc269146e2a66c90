/* seal.h - a memtable's rows into a part: encoded like a block, not compressed, in memory.
 *
 * Searches need parts, a flush does not: rows are sealed when a search begins, and
 * while searches continue as they come, so that the next one finds little to do. */
#pragma once
#include "store/local/engine.h"

/* Encodes the rows; the run is the caller's. An empty body gives NULL. */
enum sf_err sf_seal_rows(struct sf_local *l, const struct sf_rowset *rows, uint64_t gen,
                         struct sf_run **out, struct sf_why *why);
/* Seals a body that was cut from `m` and puts the part into the snapshot. On failure the body stays
 * in the memtable's list, findable, and the next flush tries again. */
enum sf_err sf_seal_body(struct sf_local *l, struct sf_memtable *m, struct sf_memtable_body *body,
                         struct sf_why *why);
/* Cuts and seals every memtable that holds rows older than `age_ns`. */
enum sf_err sf_seal_all(struct sf_local *l, int64_t age_ns, struct sf_why *why);
/* Call before looking through the snapshot: what was acknowledged before the call, or before the
 * query began if it says when, is in it then. Failing, an answer would lack all that came since the
 * last flush. The seal thread does the work: query threads have low priority and must not hold
 * locks that ingest waits for. It seals at most every tuning.seal_gap_ns; requests within that time
 * wait. It ends with the query: DEADLINE, CANCELLED. */
enum sf_err sf_seal_for_reader(struct sf_local *l, const struct sf_query_ctx *q,
                               struct sf_why *why);
/* Has anybody searched within the last seconds? */
bool sf_seal_is_wanted(struct sf_local *l);
void sf_seal_loop(void *local); /* the thread */
