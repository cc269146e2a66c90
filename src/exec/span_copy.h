/* span_copy.h - copies of resources and scopes that outlive their rows. Rows borrow from a cursor
 * until its next step; what an answer keeps is copied into the request's arena. */
#pragma once
#include "base/arena.h"
#include "model/span.h"

/* False when the arena is full; `out` is then unusable. */
bool sf_span_copy_resource(struct sf_arena *req, const struct sf_resource *r,
                           struct sf_resource *out);
bool sf_span_copy_scope(struct sf_arena *req, const struct sf_scope *s, struct sf_scope *out);

/* Same content? For joining resources of one process from several blocks. */
bool sf_span_copy_resource_is_same(const struct sf_resource *a, const struct sf_resource *b);
bool sf_span_copy_scope_is_same(const struct sf_scope *a, const struct sf_scope *b);
uint64_t sf_span_copy_resource_key(const struct sf_resource *r); /* same content, same hash */
uint64_t sf_span_copy_scope_key(const struct sf_scope *s);
