/* inspected.h - answer: the cost of a query. */
#pragma once
#include "base/str.h"

struct sf_inspected {
    uint64_t n_traces, n_spans, read_len, n_blocks;
    bool is_unfinished; /* more results will follow, or they are partial: the job is reported as not
                         * complete */
};
