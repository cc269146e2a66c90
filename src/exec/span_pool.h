/* span_pool.h - copies of the spans of one trace that outlive their rows.
 *
 * What rows share is stored once: each resource, each scope, and recently used texts (keys and most
 * values are repeated). A bare pool leaves out what only a reader of the trace needs: events,
 * links, messages, and attributes that do not tell where the span ran or what profile it has. */
#pragma once
#include "base/arena.h"
#include "base/table.h"
#include "model/span_rows.h"

struct sf_span_pool {
    struct sf_arena *req; /* for all memory */
    bool is_bare;
    struct sf_resource *resources;
    struct sf_scope *scopes;
    uint32_t n_resources, n_scopes;
    uint32_t cap_resources, cap_scopes;
    struct sf_table resource_at, scope_at;
    sf_str *texts; /* recently used, by hash */
    /* Rows refer to resources by index in lists that change from batch to batch; consecutive rows
     * mostly have the same one. */
    uint32_t last_resource, last_resource_to, last_scope, last_scope_to;
};

void sf_span_pool_init(struct sf_span_pool *p, struct sf_arena *req, bool is_bare);
void sf_span_pool_next_rows(struct sf_span_pool *p); /* call before rows of another batch */
/* Adds row `i` as a span of the pool. False: the arena is full. */
bool sf_span_pool_add(struct sf_span_pool *p, const struct sf_span_rows *rows, uint32_t i,
                      struct sf_span *out);
