/* tombstones.h - unfinished erasures, whose rows every query must hide.
 *
 * A tombstone hides the selected rows of one tenant in all blocks with numbers below the next block
 * number at the time of the erasure. A list is immutable and reference-counted; a snapshot holds
 * one. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/select.h"

struct sf_tombstone {
    uint64_t id;
    uint32_t tenant;
    uint64_t below_block;
    uint64_t lsn; /* log records up to here may contain erased rows */
    int64_t created_ns;
    struct sf_selector which; /* owned by the list */
};

struct sf_tombstones;

/* A list like `base` (may be NULL) with one more tombstone, or without number `drop_id` (0: none).
 * Content is copied. NULL: no memory. */
struct sf_tombstones *sf_tombstones_with(const struct sf_tombstones *base,
                                         const struct sf_tombstone *more, uint64_t drop_id);
struct sf_tombstones *sf_tombstones_ref(struct sf_tombstones *t);
void sf_tombstones_unref(struct sf_tombstones *t);     /* NULL is fine */
size_t sf_tombstones_n(const struct sf_tombstones *t); /* NULL: an empty list */
const struct sf_tombstone *sf_tombstones_get(const struct sf_tombstones *t, size_t i);

/* May any tombstone hide a row of this block? `tenant` 0: several; the times are the block's. */
bool sf_tombstones_touch(const struct sf_tombstones *t, uint64_t block_id, uint32_t tenant,
                         int64_t ts_min_ns, int64_t ts_max_ns);
bool sf_tombstones_touches(const struct sf_tombstone *t, uint64_t block_id, uint32_t tenant,
                           int64_t ts_min_ns, int64_t ts_max_ns);
/* Is this row hidden? */
bool sf_tombstones_hide(const struct sf_tombstones *t, uint64_t block_id, uint32_t tenant,
                        sf_trace_id trace, sf_str service, uint64_t start_ns);

/* The selector as stored in the catalogue and erase.log. */
void sf_tombstones_selector_encode(const struct sf_selector *s, struct sf_buf *out);
/* Lists and strings borrow from `in` except the trace ids, which are written to `ids` (space for
 * in.len / 16). CORRUPT. */
enum sf_err sf_tombstones_selector_decode(sf_bytes in, sf_trace_id *ids, struct sf_selector *out,
                                          struct sf_why *why);
