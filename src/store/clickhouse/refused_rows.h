/* refused_rows.h - the folder ship.refused: rows that ClickHouse refuses because of their content,
 * as they were sent (Native or RowBinary, zstd). Bounded by SF_LIMIT_SHIP_SET_ASIDE_LEN. */
#pragma once
#include "base/err.h"
#include "base/str.h"
#include "os/dir.h"

#define SF_REFUSED_ROWS_FOLDER "ship.refused"

enum { SF_REFUSED_ROWS_NAME = 80 };

struct sf_refused_rows {
    struct sf_dir *dir;
    uint64_t len; /* of all files */
};

struct sf_refused_rows sf_refused_rows_open(struct sf_dir *dir);
/* Writes the file durably; `name` begins with the folder. FULL: with the reason of the refusal. */
enum sf_err sf_refused_rows_write(struct sf_refused_rows *r, const char *name, sf_bytes rows,
                                  const struct sf_why *refused, struct sf_why *why);
