/* rebuild.h - the catalogue again, from the blocks themselves. Deletes nothing.
 *
 * A header says its flush (or merge), how many siblings that made, and a merged block which ones it
 * replaced. From that follows what had been committed when the catalogue was lost. */
#pragma once
#include "store/local/engine.h"

/* Reads every block file; fills `out_meta` (uuid as given, or taken from the blocks when
 * `has_uuid` is false and there are any) and the rows of the blocks that count. The rest is moved
 * to orphan/. `*out_rows` is the caller's (sf_heap_free). */
enum sf_err sf_rebuild(struct sf_local *l, bool has_uuid, struct sf_catalogue_meta *io_meta,
                       struct sf_block_row **out_rows, size_t *out_n, struct sf_why *why);
