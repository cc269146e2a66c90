/* batch_rows.h - adds a decoded batch to a rowset, and determines the index times of its rows. */
#pragma once
#include "block/rows/rowset.h"

/* Adds a whole batch received at `recv_ns`; the rule for index times needs the retention (0: no
 * limit). On failure the rowset is unchanged. */
enum sf_err sf_batch_rows_add(struct sf_rowset *r, uint32_t tenant, int64_t recv_ns,
                              int64_t retention_ns, const struct sf_span_batch *batch,
                              struct sf_why *why);

/* The index time of a row: its start, unless the sender's clock is far off. */
int64_t sf_batch_rows_index(uint64_t start_ns, int64_t recv_ns, int64_t retention_ns);
/* The end of a row for retention. */
int64_t sf_batch_rows_end(uint64_t end_ns, int64_t index_ns, int64_t recv_ns);
