/* view.h - a store of one query: rows that came from elsewhere, read as if they were here.
 *
 * A view holds what is added to it, in memory, and what it borrows of the store that it is a view
 * of. It is read through sf_store_local_ops like any other store, so whatever a query means, it
 * means the same there. Nothing else works on it: it has no log, no files and no threads. One
 * thread; ends before its store. */
#pragma once
#include "store/store.h"

enum sf_err sf_view_open(struct sf_store *store, struct sf_store **out, struct sf_why *why);
void sf_view_close(struct sf_store *view); /* NULL is fine */

/* One span. INPUT, LIMIT, NOMEM. */
enum sf_err sf_view_add_span(struct sf_store *view, uint32_t tenant, const struct sf_span *span,
                             const struct sf_resource *resource, const struct sf_scope *scope,
                             struct sf_why *why);
/* Resources and scopes of the spans that follow may be others at the same addresses: equal ones in
 * a row are searched for once. */
void sf_view_begin_tables(struct sf_store *view);
size_t sf_view_n_spans(const struct sf_store *view);
/* Spans that were added can be read from here on, and no further ones come. */
enum sf_err sf_view_seal(struct sf_store *view, struct sf_why *why);

enum sf_err sf_view_add_profiles(struct sf_store *view, uint32_t tenant,
                                 const struct sf_profile_batch *profiles, struct sf_why *why);
/* Borrows the store's profiles that are in no block yet: all of its records after `*out_lsn`. */
enum sf_err sf_view_lend_memory(struct sf_store *view, uint64_t *out_lsn, struct sf_why *why);
/* And its blocks of profiles: then all that it has is here. */
void sf_view_lend_blocks(struct sf_store *view);
/* The record before the first that is in no block, as it is now. */
uint64_t sf_view_memory_lsn(struct sf_store *store);
