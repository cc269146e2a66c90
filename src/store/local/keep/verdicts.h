/* verdicts.h - the verdicts on past hours: one file verdict/TENANT-HOUR.sfv each, written
 * atomically. The file itself is the commit; the catalogue has no row for it.
 *
 * A block of profiles of level 1 (one tenant, one hour) is judged when it has no record later than
 * the verdict's lsn. It is also thinned if its number is not below the verdict's below_block: every
 * merge into hours deletes what the verdict does not keep. Samples that arrive later make a block
 * with a later record; the hour is then judged again, by the rules it had, and everything kept
 * before stays kept. */
#pragma once
#include "store/local/keep/keep_book.h"
#include "store/local/run.h"

struct sf_selector;

enum sf_err sf_verdicts_load(struct sf_local *l, struct sf_why *why);
enum sf_err sf_verdicts_refuse_newer(struct sf_dir *dir, struct sf_why *why);
/* The head of an hour's verdict; false: it was not judged. */
bool sf_verdicts_find(struct sf_local *l, uint32_t tenant, int64_t hour,
                      struct sf_verdict_head *out);
enum sf_err sf_verdicts_due(struct sf_store *s, struct sf_arena *req, struct sf_keep_due *out,
                            struct sf_why *why);
/* The rules that apply to an hour, whether or not it is due: version, since_hour and rules of
 * `out`. NOT_FOUND: the hour is not judged. */
enum sf_err sf_verdicts_rules(struct sf_local *l, int64_t hour, struct sf_arena *req,
                              struct sf_keep_due *out, struct sf_why *why);
enum sf_err sf_verdicts_put(struct sf_store *s, const struct sf_verdict *v, struct sf_why *why);
enum sf_err sf_verdicts_get(struct sf_store *s, uint32_t tenant, int64_t hour, struct sf_arena *req,
                            struct sf_verdict *out, struct sf_why *why);
enum sf_err sf_verdicts_states(struct sf_store *s, const struct sf_keep_ask *asks, uint32_t n,
                               struct sf_query_ctx *q, struct sf_keep_state *out,
                               struct sf_why *why);
/* Must the block not be merged into a day yet, because its hour is not judged and thinned? */
bool sf_verdicts_holds_back(struct sf_local *l, const struct sf_block_row *row);
/* Removes what an erasure selects. The caller holds merge_lock. */
enum sf_err sf_verdicts_erase(struct sf_local *l, uint32_t tenant, const struct sf_selector *which,
                              struct sf_why *why);
/* Deletes verdicts of hours that have no data left. The caller holds merge_lock. */
enum sf_err sf_verdicts_age(struct sf_local *l, struct sf_why *why);
