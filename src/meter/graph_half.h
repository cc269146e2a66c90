/* graph_half.h - one half of a request between two services, from one span.
 *
 * A caller's half (CLIENT, PRODUCER) and a callee's (SERVER, CONSUMER) belong together when they
 * have the same trace id and caller's span id. An ingest thread collects the halves of a batch in
 * its own arena; shared state is changed only after the store has accepted the batch. */
#pragma once
#include "base/arena.h"
#include "model/span.h"

enum sf_graph_type {                  /* the label connection_type */
                     SF_GRAPH_DIRECT, /* "" */
                     SF_GRAPH_MESSAGING,
                     SF_GRAPH_DATABASE,
                     SF_GRAPH_VIRTUAL /* one side sends no spans and is known only by name */
};

struct sf_graph_half {
    sf_trace_id trace_id;
    sf_span_id key; /* the caller's span id */
    uint64_t duration_ns;
    sf_str node; /* service and dimensions, each followed by a zero byte */
    sf_str peer; /* the other side according to this span, likewise; may be empty */
    uint64_t node_hash, peer_hash;
    bool is_caller, has_failed;
    bool is_alone; /* there will be no other half: `peer` is the other side */
    uint8_t type;  /* enum sf_graph_type */
};

enum { SF_GRAPH_CHUNK = 256 };
struct sf_graph_chunk {
    struct sf_graph_chunk *next;
    uint32_t n;
    struct sf_graph_half list[SF_GRAPH_CHUNK];
};

struct sf_graph_tally { /* zeroed before the first batch of a request */
    struct sf_graph_chunk *first, *last;
    uint32_t n_halves;
    uint64_t n_outside_slack, n_over; /* spans left out: time too far from now; too many */
};

/* Adds the halves in `batch`; `dimensions` are resource attributes. False: the arena is full. */
bool sf_graph_half_tally_add(struct sf_graph_tally *t, const struct sf_span_batch *batch,
                             const char *const *dimensions, size_t n_dimensions, int64_t now_ns,
                             int64_t slack_ns, struct sf_arena *req);
