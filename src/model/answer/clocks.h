/* clocks.h - answer: hosts whose clocks contradict each other, and the corrections. */
#pragma once
#include "base/str.h"

struct sf_clock_row {
    sf_str service, caller;
    uint64_t n_calls;  /* number of corrected calls */
    int64_t offset_ns; /* how far the service's clock is ahead of its caller's */
    int64_t slack_ns;  /* uncertainty; negative: unknown, the offset is at least this large */
    bool is_contradictory;
};

struct sf_clocks_view {
    const struct sf_clock_row *rows;
    uint32_t n_rows, n_more; /* pairs of services: listed; left out */
    uint32_t n_moved;        /* spans */
    int64_t shift_ns; /* of one span: converts its times to the clock of the trace's first span */
};
