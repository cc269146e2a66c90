/* span_pool.h - spans of one trace that outlive the rows they came from.
 *
 * What rows share is kept once: each resource, each scope, and texts that were met lately (keys and
 * most values come again and again). A bare pool leaves out what only a reader of the trace wants:
 * events, links, messages, and attributes that do not say where the span ran or what profile it
 * has. */
#pragma once
#include "base/arena.h"
#include "base/table.h"
#include "model/span_rows.h"

struct sf_span_pool {
    struct sf_arena *req; /* where all of it lives */
    bool is_bare;
    struct sf_resource *resources;
    struct sf_scope *scopes;
    uint32_t n_resources, n_scopes;
    uint32_t cap_resources, cap_scopes;
    struct sf_table resource_at, scope_at;
    sf_str *texts; /* met lately, by their hash */
    /* Rows name resources by place in lists that change from batch to batch; consecutive rows
     * mostly name the same one. */
    uint32_t last_resource, last_resource_to, last_scope, last_scope_to;
};

void sf_span_pool_init(struct sf_span_pool *p, struct sf_arena *req, bool is_bare);
void sf_span_pool_next_rows(struct sf_span_pool *p); /* before rows of another batch */
/* Row `i` as a span of the pool. False: the arena is full. */
bool sf_span_pool_add(struct sf_span_pool *p, const struct sf_span_rows *rows, uint32_t i,
                      struct sf_span *out);
