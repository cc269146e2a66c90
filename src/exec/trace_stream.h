/* trace_stream.h - returns whole traces from a span cursor, one at a time.
 *
 * The store returns the rows of a trace consecutively, possibly in several batches. A trace that is
 * in one batch is used in place; otherwise it is copied until it is complete. A trace that does not
 * fit the memory is left out and counted; the others are returned. */
#pragma once
#include "exec/trace_view.h"
#include "store/store.h"

struct sf_trace_stream {
    struct sf_span_cursor *cursor; /* borrowed */
    struct sf_arena *req;          /* for the current trace; reset by every step */
    struct sf_span_rows rows;
    uint32_t at; /* next row of `rows` */
    bool has_rows, is_done;
    uint64_t n_traces, n_spans;
    uint64_t n_left_out; /* left out here for lack of memory; the store counts its own */
    sf_trace_id left_out;
};

/* The next trace: `v` is initialised, spans sorted by start; valid until the next step. False at
 * the end and after an error, which is then in *out_err and `why`. */
bool sf_trace_stream_next(struct sf_trace_stream *s, struct sf_trace_view *v, enum sf_err *out_err,
                          struct sf_why *why);
/* Call if the current trace does not fit the memory after all. */
void sf_trace_stream_leave_out(struct sf_trace_stream *s, sf_trace_id id);
/* A sentence about what was left out; empty: nothing. In `req`, or shorter if that is full. */
sf_str sf_trace_stream_left_out_note(uint64_t n, sf_trace_id id, struct sf_arena *req);
sf_str sf_trace_stream_note(const struct sf_trace_stream *s, struct sf_arena *req);

/* The note for sf_query_ctx.may_miss_far. */
#define SF_MISSES_FAR                                                                             \
    SF_STR(                                                                                       \
        "traces that go on for more than 10 minutes outside the range may be missing: spans "     \
        "that arrived recently have not been compared with older ones yet; retry in a minute or " \
        "widen the range")
