/* native_block.h - ClickHouse's Native: a block of rows, column after column. A server reads it
 * with a tenth of the work of RowBinary, and it is shorter: the texts of a LowCardinality column
 * are sent once, and its values as numbers of texts.
 *
 * A block is made of rows in RowBinary. Columns are described by their names, separated by ", ",
 * and by one letter for the type of each, after '*' for an array of it:
 *
 *     1 UInt8   4 UInt32   8 UInt64   i Int64   d Float64   D Date   F FixedString(16)
 *     S String  s LowCardinality(String) */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct sf_native_block;

/* `columns` and `types` must stay valid. NULL: no memory, or they do not describe the same number
 * of columns. */
struct sf_native_block *sf_native_block_new(const char *columns, const char *types);
void sf_native_block_free(struct sf_native_block *b); /* NULL is fine */
/* Appends the rows as one block. CORRUPT: they are of other types, or cut off; NOMEM, LIMIT (of
 * `out`). */
enum sf_err sf_native_block_write(struct sf_native_block *b, sf_bytes rows, struct sf_buf *out,
                                  struct sf_why *why);
/* The name of a type: "UInt8". `out_size`: bytes of a value, 0 for texts. NULL: no such letter. */
const char *sf_native_block_type(char letter, uint8_t *out_size);
