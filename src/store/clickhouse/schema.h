/* schema.h - the tables in ClickHouse, their versions, and the migration between versions.
 *
 * Every shard has all tables, and the dictionary entries of a row are on the row's own shard: one
 * shard alone can be read, backed up and checked. Tenants are stored by name, because their numbers
 * differ between nodes. Migrations only go forward and only add; a node refuses a schema that is
 * newer than its own. */
#pragma once
#include "base/buf.h"
#include "store/clickhouse/shard.h"

enum { SF_SCHEMA_VERSION = 7 };

enum sf_ship_table { /* in sending order: entries before the rows that refer to them */
                     SF_SHIP_RESOURCES,
                     SF_SHIP_SCOPES,
                     SF_SHIP_SERIES,
                     SF_SHIP_FRAMES,
                     SF_SHIP_STACKS,
                     SF_SHIP_TRACES,
                     SF_SHIP_SPANS,
                     SF_SHIP_PROFILES,
                     SF_SHIP_AGGREGATES,
                     SF_SHIP_DETAILS,
                     SF_SHIP_BATCHES, /* last: confirms that the other rows were sent, and their
                                         number */
                     SF_SHIP_TABLES
};
/* Counted tables: each row is stored exactly once and has a batch number. */
enum { SF_SHIP_N_COUNTED = SF_SHIP_BATCHES - SF_SHIP_TRACES };

const char *sf_schema_table_name(enum sf_ship_table table);
/* "INSERT INTO database.spans (tenant, ...) FORMAT Native"; RowBinary for a table without types. */
void sf_schema_table_insert(enum sf_ship_table table, const char *database, struct sf_buf *out);
/* Samples whose hour is to be judged are sent to `undecided` instead, in the same columns. */
#define SF_SCHEMA_UNDECIDED "undecided"
void sf_schema_undecided_insert(const char *database, struct sf_buf *out);
const char *sf_schema_table_columns(enum sf_ship_table table); /* separated by commas */
/* Their types, one letter for each (wire/native_block.h); NULL: of a small table, whose rows are
 * sent as they are. */
const char *sf_schema_table_types(enum sf_ship_table table);

/* The version that the shard has; 0: none. */
enum sf_err sf_schema_version(struct sf_shard *s, const char *database, uint32_t *out,
                              struct sf_why *why);
/* Brings the shard to SF_SCHEMA_VERSION. UNSUPPORTED: it has a newer one. */
enum sf_err sf_schema_migrate(struct sf_shard *s, const char *database, struct sf_why *why);
/* Writes the statements that migrate from version `from` to the current one, for operators. */
void sf_schema_print(uint32_t from, const char *database, struct sf_buf *out);
