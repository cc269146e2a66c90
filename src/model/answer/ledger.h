/* ledger.h - answer: the time breakdown of a span. */
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
        uint64_t cut_ns;           /* additional measured or sampled time that exceeds the span's
                                    * duration */
        uint64_t apart_ns;         /* time seen in the process, but not attributed to the span */
        bool has_stacks;           /* a flame graph is available */
        double few;                /* number of samples if too few for times; 0: enough */
    } parts[SF_LEDGER_VIEW_PARTS]; /* they add up to duration_ns */
    uint32_t n_parts;
    uint64_t other_cpu_ns;     /* CPU time of other threads that worked for the span */
    uint64_t n_samples;        /* samples used for the parts */
    uint64_t n_apart;          /* samples not used for them */
    struct sf_keep_state keep; /* whether its request's samples were kept */
    sf_str reason;             /* why much is unknown, and what to change; empty: no problem */
    bool is_partial;
    struct sf_clocks_view clocks; /* clocks that were corrected for it */
};
