/* service_graph.h - calls between services with counts, durations and failures, under the metric
 * names of Grafana's service graph.
 *
 * Halves are collected by graph_half.h and added once the store has their batch. A half whose other
 * half is already waiting makes a request at once, the others wait; a half that waits too long is
 * either a call to a service that sends no spans (if the span names it) or unpaired. Everything is
 * limited: series, waiting halves and their text. Any thread. */
#pragma once
#include "meter/exposition.h"
#include "meter/graph_half.h"

enum { SF_GRAPH_BUCKETS = 9 }; /* 0.1 * 2^i seconds, the last one open */

struct sf_service_graph_config { /* 0: the default of base/limits.h */
    uint32_t max_series, max_waiting;
    int64_t wait_ns, stale_ns, slack_ns;
    /* Resource attributes that become labels client_x and server_x; at most SF_DIMENSIONS, the rest
     * is ignored. Borrowed as long as the graph lives. */
    const char *const *dimensions;
    size_t n_dimensions;
};

struct sf_service_graph;

struct sf_service_graph *sf_service_graph_new(const struct sf_service_graph_config *config);
void sf_service_graph_free(struct sf_service_graph *g); /* NULL is fine */
/* Collects the halves of one more batch of a request; `tally` zeroed before the first. False when
 * the arena is full: then `tally` must not be used. */
bool sf_service_graph_tally(const struct sf_service_graph *g, const struct sf_span_batch *batch,
                            int64_t now_ns, struct sf_arena *req, struct sf_graph_tally *tally);
/* `tenant` becomes a label of the series; empty: no such label. */
void sf_service_graph_add(struct sf_service_graph *g, sf_str tenant,
                          const struct sf_graph_tally *tally, int64_t now_ns);
/* Expires halves that waited too long, drops stale series, then writes the rest. */
void sf_service_graph_render(struct sf_service_graph *g, int64_t now_ns, struct sf_exposition *e);
uint64_t sf_service_graph_memory_len(struct sf_service_graph *g);
