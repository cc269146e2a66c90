/* shared_text.h - small texts that all nodes of a fleet share: pins, documents for collectors,
 * alert state.
 *
 * A text is identified by kind, tenant and name and stored in the table `shared` on the first
 * shard. Each change inserts a row with the next version number; the row with the highest number is
 * the current one. Of the inserts of one version only the first is stored (first_row.h). Therefore
 * a change replaces the version that it was based on or fails, as a compare-and-swap does, without
 * comparing clocks of nodes (lease.h works the same way). A removed text stays as a row with
 * is_gone = 1. */
#pragma once
#include "store/clickhouse/shard.h"
#include "store/store.h"

enum { SF_SHARED_TEXT_LEN = 32 << 20 }; /* bytes of a text, and of a response with several */

/* Reads the newest version; io->body points into `answer`. Version 0: the text never existed. */
enum sf_err sf_shared_text_get(struct sf_shard *first, const char *database,
                               struct sf_shared_text *io, struct sf_buf *answer,
                               struct sf_why *why);
/* Replaces version `text->version` (0: creates the text). BUSY: another node replaced it first. */
enum sf_err sf_shared_text_put(struct sf_shard *first, const char *database,
                               const struct sf_shared_text *text, struct sf_why *why);
/* Calls `see` with the newest version of each text of a kind that was inserted at or after
 * `since_ms` by the shard's clock (0: all texts). The strings are borrowed until `see` returns.
 * Raises `*io_ms` to the time of the newest of these rows. */
enum sf_err sf_shared_text_list(struct sf_shard *first, const char *database, sf_str kind,
                                int64_t since_ms,
                                enum sf_err (*see)(void *arg, const struct sf_shared_text *text,
                                                   struct sf_why *why),
                                void *arg, int64_t *io_ms, struct sf_why *why);
/* Deletes texts whose ends_ns is more than SF_LIMIT_SHIP_AGE_DAYS days ago. */
enum sf_err sf_shared_text_tidy(struct sf_shard *first, const char *database, struct sf_why *why);
