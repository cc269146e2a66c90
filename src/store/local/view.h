/* view.h - a temporary store for one query, for rows that were read elsewhere (ClickHouse).
 *
 * A view holds in memory the rows that are added to it, and refers to data of the store that it is
 * a view of. It is read through sf_store_local_ops like any other store, so queries have the same
 * meaning there. Nothing else works on it: it has no log, no files and no threads. For use by one
 * thread; must be closed before its store. */
#pragma once
#include "store/store.h"

enum sf_err sf_view_open(struct sf_store *store, struct sf_store **out, struct sf_why *why);
void sf_view_close(struct sf_store *view); /* NULL is fine */

/* Adds one span. INPUT, LIMIT, NOMEM. */
enum sf_err sf_view_add_span(struct sf_store *view, uint32_t tenant, const struct sf_span *span,
                             const struct sf_resource *resource, const struct sf_scope *scope,
                             struct sf_why *why);
/* Call when resources and scopes of the following spans may be different ones at the same
 * addresses: consecutive equal ones are looked up only once. */
void sf_view_begin_tables(struct sf_store *view);
size_t sf_view_n_spans(const struct sf_store *view);
/* Ends the adding of spans; from here on they can be read. */
enum sf_err sf_view_seal(struct sf_store *view, struct sf_why *why);

/* Borrows the store's spans of records after `lsn`, together with some of earlier ones: all that
 * was acknowledged before the query began. `*out_is_all` false, and nothing is borrowed, if that is
 * not all that is only in the store: in [from, to] are blocks with records up to `history_lsn`, or
 * erasures are not finished, whose rows only the store hides. */
enum sf_err sf_view_lend_recent(struct sf_store *view, const struct sf_query_ctx *q, uint64_t lsn,
                                uint64_t history_lsn, int64_t from_ns, int64_t to_ns,
                                bool *out_is_all, struct sf_why *why);

enum sf_err sf_view_add_profiles(struct sf_store *view, uint32_t tenant,
                                 const struct sf_profile_batch *profiles, struct sf_why *why);
/* Borrows the store's profiles that are in no block yet: all records after `*out_lsn`. */
enum sf_err sf_view_lend_memory(struct sf_store *view, uint64_t *out_lsn, struct sf_why *why);
/* Has the store blocks of profiles with records up to `lsn`? After sf_view_lend_memory(). */
bool sf_view_has_blocks(const struct sf_store *view, uint64_t lsn);
/* Also borrows its blocks of profiles: then the view has all its profiles. */
void sf_view_lend_blocks(struct sf_store *view);
/* The last record before those in the memory to which profiles are currently added. */
uint64_t sf_view_memory_lsn(struct sf_store *store);
