/* inspected.h - what answering cost, as Tempo's SearchMetrics. */
#pragma once
#include "wire/json_writer.h"

struct sf_inspected {
    uint64_t n_traces, n_spans, read_len, n_blocks;
    bool is_unfinished; /* more is coming, or a limit cut it: the one job is not complete */
};

void sf_inspected_json(struct sf_json_writer *w, struct sf_inspected x); /* "metrics":{…} */
void sf_inspected_pb(struct sf_buf *out, struct sf_inspected x);         /* field 2 */
