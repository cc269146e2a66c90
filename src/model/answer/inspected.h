/* inspected.h - answer: what answering a query cost. */
#pragma once
#include "base/str.h"

struct sf_inspected {
    uint64_t n_traces, n_spans, read_len, n_blocks;
    bool is_unfinished; /* more is coming, or a limit cut it: the one job is not complete */
};
