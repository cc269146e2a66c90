/* attr_columns.h - columns of `spans` for attributes that are searched often:
 * store.remote.attributes.
 *
 * Conditions on other attributes read the arrays of all attributes of a span. A configured
 * attribute has three columns of its own, which ClickHouse fills from the arrays: `t:NAME` the type
 * of its value, `s:NAME` a string, `i:NAME` an integer (dots of the name become colons). Rows that
 * were stored before the columns were added are computed when they are read. The shipper adds the
 * columns; queries use them as soon as all shards have them. */
#pragma once
#include <stdatomic.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct sf_shard;

enum {
    SF_ATTR_COLUMNS = 16,       /* the most that may be configured */
    SF_ATTR_COLUMNS_NAME = 100, /* bytes of a name */
    SF_ATTR_COLUMNS_TEXT = 1,   /* values of `t:NAME`; 0: the span has no such attribute */
    SF_ATTR_COLUMNS_INT = 2,
    SF_ATTR_COLUMNS_OTHER = 3 /* another type, or several values: look into the arrays */
};

struct sf_attr_columns {
    const char *const *names; /* borrowed */
    uint32_t n;
    atomic_uint_fast64_t has_columns; /* a bit for each shard */
};

/* INPUT: too many names, a name twice, or with characters other than letters, digits, '_', '-' and
 * '.'. */
enum sf_err sf_attr_columns_check(const char *const *names, size_t n, struct sf_why *why);
/* Adds missing columns to shard `number` (from 0). */
enum sf_err sf_attr_columns_add(struct sf_attr_columns *a, struct sf_shard *shard,
                                const char *database, uint32_t number, struct sf_why *why);
/* Do all shards have the columns of this attribute? `a` may be NULL. */
bool sf_attr_columns_has(const struct sf_attr_columns *a, uint32_t n_shards, sf_str name);
/* Writes the quoted name of a column; `kind` is 't', 's' or 'i'. */
void sf_attr_columns_put(struct sf_buf *sql, char kind, sf_str name);
