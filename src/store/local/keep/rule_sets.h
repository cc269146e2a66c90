/* rule_sets.h - which rules apply to each hour.
 *
 * Changed rules apply from the next whole hour on: past hours and the current one are judged by the
 * rules they began with, however late that is done. In a directory without data, the first rules
 * apply to all hours. The sets are stored in verdict/rules. */
#pragma once
#include "store/local/keep/keep_book.h"

#define SF_RULE_SETS_FILE  "verdict/rules"
#define SF_RULE_SETS_MAGIC "SFR1"

/* Decodes the file's content (without head and checksum): `see` gets each set, whose rules are
 * borrowed, and may end the decoding with an error. CORRUPT. */
enum sf_err sf_rule_sets_decode(sf_bytes in,
                                enum sf_err (*see)(void *arg, const struct sf_rule_set *set,
                                                   struct sf_why *why),
                                void *arg, struct sf_why *why);
enum sf_err sf_rule_sets_load(struct sf_local *l, struct sf_why *why);
/* Adds the rules of the configuration if they changed. */
enum sf_err sf_rule_sets_update(struct sf_local *l, bool is_new, struct sf_why *why);
/* The set of an hour; NULL: none existed then. Call with the book's lock held. */
const struct sf_rule_set *sf_rule_sets_find(const struct sf_keep_book *b, int64_t hour);
/* Do the rules of the hour require a verdict? Call with the book's lock held. */
bool sf_rule_sets_is_judged(const struct sf_keep_book *b, int64_t hour);
