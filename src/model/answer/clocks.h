/* clocks.h - answer: hosts whose clocks contradict each other, and what was done about it. */
#pragma once
#include "base/str.h"

struct sf_clock_row {
    sf_str service, caller;
    uint64_t n_calls;  /* that were moved */
    int64_t offset_ns; /* what the service's clock is ahead of its caller's */
    int64_t slack_ns;  /* to within this; negative: it is the least that can be */
    bool is_contradictory;
};

struct sf_clocks_view {
    const struct sf_clock_row *rows;
    uint32_t n_rows, n_more; /* pairs: listed; left out */
    uint32_t n_moved;        /* spans */
    int64_t shift_ns; /* of one span: what brings its times to the clock of the trace's first */
};
