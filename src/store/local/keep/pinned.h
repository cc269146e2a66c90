/* pinned.h - finds the samples of pinned traces, for one merge.
 *
 * Samples often carry only a span id, so the spans of the traces are read. Samples without ids are
 * assumed to belong to a trace if their service had a span of it at that time. */
#pragma once
#include "block/profile/profile_block.h"
#include "store/local/keep/keep_book.h"

struct sf_pinned_time { /* of one service in one trace */
    uint64_t service;   /* a hash */
    int64_t start_ns, end_ns;
    int64_t until_ns; /* the latest end of this and the previous entries of its service */
};

struct sf_pinned {
    sf_trace_id *traces; /* sorted */
    size_t n_traces;
    sf_span_id *spans; /* sorted */
    size_t n_spans, cap_spans;
    struct sf_pinned_time *times; /* sorted by service and start */
    size_t n_times, cap_times;
};

/* Pins of a tenant (0: of any) that were made at `since_ns` or later. */
enum sf_err sf_pinned_load(struct sf_pinned *p, struct sf_local *l, uint32_t tenant,
                           int64_t since_ns, struct sf_why *why);
void sf_pinned_done(struct sf_pinned *p); /* a zeroed one is fine */
bool sf_pinned_has(const struct sf_pinned *p, const struct sf_profile_detail *d, sf_str service);
