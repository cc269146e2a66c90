/* shared_text.h - small texts that all nodes of a fleet have in common: pins, documents for
 * collectors, alerts.
 *
 * A text is a row of `shared` on the first shard, named by kind, tenant and name. Its versions are
 * numbered, and the newest counts. A version belongs to the first insert with its number:
 * ClickHouse stores one insert for each token, and the token is the text's name and the version
 * (lease.h does the same). So a change is made to the newest version or not at all, and clocks of
 * nodes are not compared. A text that was taken away stays as a row that says so. */
#pragma once
#include "store/clickhouse/shard.h"
#include "store/store.h"

enum { SF_SHARED_TEXT_LEN = 32 << 20 }; /* bytes of one, and of an answer with several */

/* The newest version, and its body in `answer`. Version 0: there was never one. */
enum sf_err sf_shared_text_get(struct sf_shard *first, const char *database,
                               struct sf_shared_text *io, struct sf_buf *answer,
                               struct sf_why *why);
/* `text->version` is the one it replaces. BUSY: another node was first. */
enum sf_err sf_shared_text_put(struct sf_shard *first, const char *database,
                               const struct sf_shared_text *text, struct sf_why *why);
/* The newest versions of all texts of a kind that came since `since_ms` by the shard's clock (0:
 * all), each to `see`, whose strings are borrowed; and when the newest came, or what `*io_ms` was.
 */
enum sf_err sf_shared_text_list(struct sf_shard *first, const char *database, sf_str kind,
                                int64_t since_ms,
                                enum sf_err (*see)(void *arg, const struct sf_shared_text *text,
                                                   struct sf_why *why),
                                void *arg, int64_t *io_ms, struct sf_why *why);
/* Deletes those that ended more than a month ago. */
enum sf_err sf_shared_text_tidy(struct sf_shard *first, const char *database, struct sf_why *why);
