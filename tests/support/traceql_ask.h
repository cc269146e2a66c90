/* traceql_ask.h - random TraceQL, as text, that likes names and values the data has.
 *
 * Driven by the grammar; most of what it writes passes the type rules, the rest tests that a
 * refusal is one. Patterns keep to what RE2 and POSIX share. */
#pragma once
#include "base/buf.h"
#include "traceql_make.h"

struct traceql_ask {
    struct traceql_make *rng; /* its random numbers */
    const struct slow_row *rows;
    uint32_t n_rows;
    struct sf_buf out; /* the query */
};

/* Into `out`, which is emptied before. */
void traceql_ask_search(struct traceql_ask *a);
void traceql_ask_metrics(struct traceql_ask *a);
