/* otlp_trace.h - decodes OTLP trace requests, protobuf and JSON, to spans.
 *
 * Malformed bytes refuse the request (INPUT, with byte offset or JSON path) and yield nothing. A
 * span whose ids are wrong is left out and counted. Lists, keys and values over their limits are
 * truncated and counted. Strings are views into `body` where possible, copies in `req` otherwise,
 * so the body must live as long as the result. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/span.h"

struct sf_otlp_rejects {
    uint64_t n_rejected; /* spans left out */
    uint64_t n_bad_trace_id, n_bad_span_id;
    uint64_t n_cut_attrs, n_cut_values, n_cut_keys, n_cut_names, n_cut_events, n_cut_links;
    uint64_t n_unseen; /* texts of a protobuf body that are in no span: unknown fields, replaced
                        * values of repeated fields, resources and scopes without spans; not exact,
                        * but 0 only if there are none. Not counted for JSON. */
    char first[160];   /* why the first span was left out, with its position */
};

struct sf_otlp_limits { /* 0: the default of base/limits.h */
    uint32_t max_attrs, max_value_len;
};

/* Decodes the whole request at once. LIMIT when it does not fit `req`: use the pieces below. */
enum sf_err sf_otlp_trace_decode_pb(sf_bytes body, const struct sf_otlp_limits *limits,
                                    struct sf_arena *req, struct sf_span_batch *out,
                                    struct sf_otlp_rejects *rejects, struct sf_why *why);
enum sf_err sf_otlp_trace_decode_json(sf_bytes body, const struct sf_otlp_limits *limits,
                                      struct sf_arena *req, struct sf_span_batch *out,
                                      struct sf_otlp_rejects *rejects, struct sf_why *why);

/* Decodes a large request in pieces: first checks all of it (nothing is delivered if any byte is
 * invalid), then calls `take` with at most `max_spans` spans at a time; `req` is reset between
 * calls. */
enum sf_err sf_otlp_trace_decode_pieces(
    sf_bytes body, bool is_json, const struct sf_otlp_limits *limits, uint32_t max_spans,
    struct sf_arena *req,
    enum sf_err (*take)(void *arg, const struct sf_span_batch *piece, struct sf_why *why),
    void *arg, struct sf_otlp_rejects *rejects, struct sf_why *why);
