/* rebuild.h - rebuilds the catalogue from the blocks. Deletes nothing.
 *
 * The header of a block names its flush (or merge) and the number of its siblings; that of a merged
 * block also names the blocks it replaced. From this follows what had been committed when the
 * catalogue was lost. */
#pragma once
#include "store/local/engine.h"

/* Reads every block file; fills `out_meta` (uuid as given, or taken from the blocks when `has_uuid`
 * is false and there are any) and the rows of the blocks that count. Other block files are moved to
 * orphan/. The caller frees `*out_rows` with sf_heap_free. */
enum sf_err sf_rebuild(struct sf_local *l, bool has_uuid, struct sf_catalogue_meta *io_meta,
                       struct sf_block_row **out_rows, size_t *out_n, struct sf_why *why);
