/* value_summary.h - which texts can occur in the attributes of a block's spans?
 *
 * Small enough to stay in memory when the block's tables do not: a Bloom filter of the values that
 * GRAN lists, and where the filters in AFLT are, for keys with too many values to be listed. So a
 * search for a value that a block does not have reads at most a page of each of these filters, and
 * decodes no table. Only conditions "attribute of a span = text" are decided. */
#pragma once
#include "block/span/span_block_reader.h"

struct sf_value_summary;

/* Of a reader with SF_TABLES_ROWS. *out NULL: the block has too many values for a summary. */
enum sf_err sf_value_summary_new(const struct sf_span_block_reader *r, struct sf_arena scratch,
                                 struct sf_value_summary **out, struct sf_why *why);
void sf_value_summary_free(struct sf_value_summary *s); /* NULL is fine */
size_t sf_value_summary_memory(const struct sf_value_summary *s);
uint32_t sf_value_summary_granules(const struct sf_value_summary *s); /* of the block */
/* May the block have a row of the tenant for which all conditions are true? False is certain. Does
 * not need the tables of the reader. */
enum sf_err sf_value_summary_may_hold(const struct sf_value_summary *s,
                                      const struct sf_span_block_reader *r, uint32_t tenant,
                                      const struct sf_cond *conds, size_t n_conds,
                                      struct sf_arena scratch, bool *out, struct sf_why *why);
