/* batch_rows.h - a decoded batch into a rowset, and when its rows count as having happened. */
#pragma once
#include "block/rows/rowset.h"

/* A whole batch received at `recv_ns`; the index time rule needs the retention (0: no limit). On
 * failure the rowset is as before. */
enum sf_err sf_batch_rows_add(struct sf_rowset *r, uint32_t tenant, int64_t recv_ns,
                              int64_t retention_ns, const struct sf_span_batch *batch,
                              struct sf_why *why);

/* When a row counts as having happened: its start, unless the sender's clock is absurd. */
int64_t sf_batch_rows_index(uint64_t start_ns, int64_t recv_ns, int64_t retention_ns);
/* Its end as retention sees it. */
int64_t sf_batch_rows_end(uint64_t end_ns, int64_t index_ns, int64_t recv_ns);
