/* rule_sets.h - by which rules each hour is judged.
 *
 * Changed rules hold from the next whole hour on: hours behind us, and the one that runs, are
 * judged by the rules they began with, however late that is done. A directory without data has
 * nothing behind it: its first rules hold for everything. Sets are kept in verdict/rules. */
#pragma once
#include "store/local/keep/keep_book.h"

#define SF_RULE_SETS_FILE  "verdict/rules"
#define SF_RULE_SETS_MAGIC "SFR1"

/* The bytes of the file, without head and checksum: `see` gets each set, whose rules are borrowed.
 * It may end that with an error. CORRUPT. */
enum sf_err sf_rule_sets_decode(sf_bytes in,
                                enum sf_err (*see)(void *arg, const struct sf_rule_set *set,
                                                   struct sf_why *why),
                                void *arg, struct sf_why *why);
enum sf_err sf_rule_sets_load(struct sf_local *l, struct sf_why *why);
/* Takes the rules of the configuration, when they changed. */
enum sf_err sf_rule_sets_update(struct sf_local *l, bool is_new, struct sf_why *why);
/* The set of an hour, or NULL: none was known then. With the book's lock held. */
const struct sf_rule_set *sf_rule_sets_find(const struct sf_keep_book *b, int64_t hour);
/* Is the hour one of those that are judged at all? With the book's lock held. */
bool sf_rule_sets_is_judged(const struct sf_keep_book *b, int64_t hour);
