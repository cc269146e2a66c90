/* ledger.h - answer: where a span's time went. */
#pragma once
#include "model/answer/clocks.h"
#include "model/ids.h"
#include "model/keep_state.h"

enum { SF_LEDGER_VIEW_PARTS = 16 };

struct sf_ledger_view {
    sf_trace_id trace;
    sf_span_id span;
    sf_str service, name;
    uint64_t duration_ns;
    struct {
        const char *name;   /* "run_queue" */
        const char *words;  /* "waiting for a CPU" */
        const char *source; /* "samples" */
        uint64_t ns;
        uint64_t cut_ns;           /* more was measured or sampled, and had no space in the span */
        uint64_t apart_ns;         /* seen in the process meanwhile, not tied to the span */
        bool has_stacks;           /* it can be opened as a flame graph */
        double few;                /* samples it comes from, too few for times; 0: enough */
    } parts[SF_LEDGER_VIEW_PARTS]; /* sum: duration_ns */
    uint32_t n_parts;
    uint64_t other_cpu_ns;     /* of other threads that worked for the span */
    uint64_t n_samples;        /* in the parts */
    uint64_t n_apart;          /* not in them */
    struct sf_keep_state keep; /* what became of its request's samples */
    sf_str reason;             /* why much is unknown, and what to change; empty: well */
    bool is_partial;
    struct sf_clocks_view clocks; /* that were corrected for it */
};
