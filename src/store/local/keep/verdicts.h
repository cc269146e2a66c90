/* verdicts.h - the verdicts on hours that are over: verdict/TENANT-HOUR.sfv, one file each, put in
 * its place whole. A file is its own commit; no catalogue row names it.
 *
 * A block of profiles of level 1 (one tenant, one hour) is judged when it has no record later than
 * the verdict's lsn, and thinned by it when its number is not below the verdict's below_block too:
 * every merge into hours leaves out what the verdict does not keep. Samples that come in later make
 * a block with a later record; the hour is then judged once more, by the rules it had, and what was
 * kept before stays kept. */
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
/* The rules of an hour, whether or not it is due: version, since_hour and rules of `out`.
 * NOT_FOUND: it is not judged. */
enum sf_err sf_verdicts_rules(struct sf_local *l, int64_t hour, struct sf_arena *req,
                              struct sf_keep_due *out, struct sf_why *why);
enum sf_err sf_verdicts_put(struct sf_store *s, const struct sf_verdict *v, struct sf_why *why);
enum sf_err sf_verdicts_get(struct sf_store *s, uint32_t tenant, int64_t hour, struct sf_arena *req,
                            struct sf_verdict *out, struct sf_why *why);
enum sf_err sf_verdicts_states(struct sf_store *s, const struct sf_keep_ask *asks, uint32_t n,
                               struct sf_query_ctx *q, struct sf_keep_state *out,
                               struct sf_why *why);
/* Must the block wait to be merged into a day, because its hour is not judged and thinned yet? */
bool sf_verdicts_holds_back(struct sf_local *l, const struct sf_block_row *row);
/* Takes out what an erasure names. The caller holds merge_lock. */
enum sf_err sf_verdicts_erase(struct sf_local *l, uint32_t tenant, const struct sf_selector *which,
                              struct sf_why *why);
/* Deletes those of hours of which nothing is left. The caller holds merge_lock. */
enum sf_err sf_verdicts_age(struct sf_local *l, struct sf_why *why);
