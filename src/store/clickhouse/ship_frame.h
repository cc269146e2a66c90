/* ship_frame.h - rows of one table as they are sent: a block of columns (Native; small tables:
 * RowBinary), compressed with zstd. For use by one thread. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "store/clickhouse/schema.h"

struct sf_deflate;
struct sf_native_block;

struct sf_ship_frame {
    struct sf_native_block *blocks[SF_SHIP_TABLES]; /* NULL: rows are sent as they are */
    struct sf_deflate *deflate;
    struct sf_buf block;
};

enum sf_err sf_ship_frame_init(struct sf_ship_frame *f, struct sf_why *why);
void sf_ship_frame_done(struct sf_ship_frame *f); /* a zeroed object is allowed */
/* Appends the rows to `out`, which may have earlier ones: frames and blocks follow each other in
 * the body of an insert. */
enum sf_err sf_ship_frame_add(struct sf_ship_frame *f, enum sf_ship_table table, sf_bytes rows,
                              struct sf_buf *out, struct sf_why *why);
