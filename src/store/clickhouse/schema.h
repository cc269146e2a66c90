/* schema.h - the tables in ClickHouse, their versions, and the way from one to the next.
 *
 * Every shard has all tables, and a row's dictionaries are on the row's own shard: one shard alone
 * can be read, backed up and checked. Tenants stand by name, because their numbers differ between
 * nodes. Steps only go forward and only add; a node refuses a schema that is newer than its own. */
#pragma once
#include "base/buf.h"
#include "store/clickhouse/shard.h"

enum { SF_SCHEMA_VERSION = 4 };

enum sf_ship_table { /* in the order in which they are sent: what rows refer to comes first */
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
                     SF_SHIP_BATCHES, /* last: says that the others are there, and how many rows */
                     SF_SHIP_TABLES
};
/* The counted ones: each row is there once, and carries its batch. */
enum { SF_SHIP_N_COUNTED = SF_SHIP_BATCHES - SF_SHIP_TRACES };

const char *sf_schema_table_name(enum sf_ship_table table);
/* "INSERT INTO database.spans (tenant, ...) FORMAT RowBinary" */
void sf_schema_table_insert(enum sf_ship_table table, const char *database, struct sf_buf *out);
/* Samples whose hour is to be judged are sent to `undecided` instead, in the same columns. */
#define SF_SCHEMA_UNDECIDED "undecided"
void sf_schema_undecided_insert(const char *database, struct sf_buf *out);
const char *sf_schema_detail_columns(void); /* of both, with commas */

/* The version that the shard has; 0: none. */
enum sf_err sf_schema_version(struct sf_shard *s, const char *database, uint32_t *out,
                              struct sf_why *why);
/* Brings the shard to SF_SCHEMA_VERSION. UNSUPPORTED: it has a newer one. */
enum sf_err sf_schema_migrate(struct sf_shard *s, const char *database, struct sf_why *why);
/* The statements that lead from version `from` to ours, one after the other, for people. */
void sf_schema_print(uint32_t from, const char *database, struct sf_buf *out);
