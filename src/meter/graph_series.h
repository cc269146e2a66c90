/* graph_series.h - the edges of the service graph and their values: a bounded table. Not
 * thread-safe. */
#pragma once
#include "base/table.h"
#include "meter/graph_half.h"
#include "meter/service_graph.h"

enum sf_graph_side { SF_GRAPH_SERVER, SF_GRAPH_CLIENT, SF_GRAPH_SIDES };

struct sf_graph_times { /* durations measured by one side */
    uint64_t sum_ns, n;
    uint64_t buckets[SF_GRAPH_BUCKETS];
    struct sf_exemplar exemplars[SF_GRAPH_BUCKETS];
};

struct sf_graph_edge {             /* identifies an edge; views */
    sf_str tenant, client, server; /* nodes as in graph_half.h; empty: unpaired */
    uint64_t client_hash, server_hash;
    uint8_t type;
};

struct sf_graph_series {
    struct sf_graph_edge edge; /* its strings are in `text` */
    char *text;                /* heap */
    uint64_t hash;
    int64_t seen_ns;
    uint64_t n_requests, n_failed, n_unpaired;
    struct sf_graph_times times[SF_GRAPH_SIDES];
};

struct sf_graph_table {
    struct sf_graph_series *list;
    struct sf_table at;
    uint32_t n, n_cap;
    size_t text_len; /* of all series */
};

bool sf_graph_series_init(struct sf_graph_table *t, uint32_t n_cap);
void sf_graph_series_done(struct sf_graph_table *t);
/* The series of an edge, added when new. NULL: the table is full, or no memory. */
struct sf_graph_series *sf_graph_series_get(struct sf_graph_table *t,
                                            const struct sf_graph_edge *edge);
/* Prefetches the slot of an edge; returns its hash, with which the second function prefetches the
 * series. */
uint64_t sf_graph_series_prefetch(const struct sf_graph_table *t, const struct sf_graph_edge *edge);
void sf_graph_series_prefetch_entry(const struct sf_graph_table *t, uint64_t hash);
/* Drops entries not updated since `before_ns`; returns how many. */
uint32_t sf_graph_series_drop_stale(struct sf_graph_table *t, int64_t before_ns);
size_t sf_graph_series_copy_len(const struct sf_graph_table *t); /* length of a copy */
/* Copies all series with their text into `room`, as an array. */
struct sf_graph_series *sf_graph_series_copy(const struct sf_graph_table *t, void *room);

void sf_graph_series_times_add(struct sf_graph_times *times, uint64_t duration_ns,
                               sf_trace_id trace_id, int64_t now_ns);
