/* otlp_make.h - realistic OTLP trace requests for tests and benches, the same for the same seed.
 *
 * 20 services with 3 instances each, 200 operations, about 12 attributes per span (ids, addresses
 * and statements among them, so of high cardinality), traces that interleave, some errors, events
 * and links. Span ids are never given twice by one maker. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "model/span.h"

enum { SF_OTLP_MAKE_SERVICES = 20, SF_OTLP_MAKE_OPS = 10, SF_OTLP_MAKE_OPEN = 64 };

struct sf_otlp_made {
    sf_trace_id trace_id;
    sf_span_id span_id;
};

struct sf_otlp_make {
    uint64_t rng;
    uint64_t seed;
    uint64_t now_ns; /* start of the next span; moves on by itself */
    uint64_t n_made;
    struct {
        sf_trace_id id;
        sf_span_id parents[4]; /* newest first; 0: none yet */
        uint32_t left;         /* spans it still gets */
    } open[SF_OTLP_MAKE_OPEN];
};

/* `now_ns` is the unix time of the first span; 0: 2024-01-01. */
void sf_otlp_make_init(struct sf_otlp_make *m, uint64_t seed, uint64_t now_ns);

/* Appends an ExportTraceServiceRequest of `n_spans` spans to `out`. `made` (NULL or space for
 * n_spans) gets their ids in the order of the request. The fault, if any, is in `out`. */
void sf_otlp_make_request(struct sf_otlp_make *m, uint32_t n_spans, struct sf_buf *out,
                          struct sf_otlp_made *made);
void sf_otlp_make_request_json(struct sf_otlp_make *m, uint32_t n_spans, struct sf_buf *out,
                               struct sf_otlp_made *made);

/* The pieces of the above: a batch in the arena, and any batch in either encoding. Aborts when the
 * arena is too small (16 KiB per span are plenty). */
void sf_otlp_make_batch(struct sf_otlp_make *m, uint32_t n_spans, struct sf_arena *req,
                        struct sf_span_batch *out);
void sf_otlp_make_pb(const struct sf_span_batch *batch, struct sf_buf *out);
void sf_otlp_make_json(const struct sf_span_batch *batch, struct sf_buf *out);

/* Same content in the same order; otherwise `what` says the first difference. */
bool sf_otlp_make_is_same(const struct sf_span_batch *a, const struct sf_span_batch *b,
                          char what[160]);
/* A seeded number below `n`, for tests that want more. */
uint64_t sf_otlp_make_below(struct sf_otlp_make *m, uint64_t n);
