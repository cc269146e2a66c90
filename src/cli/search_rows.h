/* search_rows.h - sends a search to the server and reads its answer as rows. */
#pragma once
#include "base/arena.h"
#include "cli/client.h"
#include "query/ast.h"

struct sf_search_question {
    sf_str query;           /* checked */
    int64_t from_s, to_s;   /* unix seconds; 0 and 0: all time */
    uint64_t limit;         /* traces */
    uint64_t spans_per_set; /* spans from which a cell is made */
};

struct sf_search_row {
    uint64_t start_ns, duration_ms, n_matched;
    uint64_t n_spans; /* spans of the whole trace; 0: unknown */
    sf_str root_service, root_name, trace_id;
    sf_str span_id; /* the longest matching span in the answer; may be empty */
    uint64_t span_ns;
    sf_str *cells; /* one per selected attribute; empty: no span has it */
};

struct sf_search_rows {
    struct sf_search_row *list; /* newest first, as the server gave them */
    uint32_t n;
};

/* The unchanged answer: JSON, and a note when it was truncated. */
enum sf_err sf_search_rows_fetch(const struct sf_client *client,
                                 const struct sf_search_question *ask, struct sf_client_answer *out,
                                 struct sf_why *why);
/* Rows point into `req` and `body`. */
enum sf_err sf_search_rows_read(sf_str body, const struct sf_query_attr *columns,
                                uint32_t n_columns, struct sf_arena *req,
                                struct sf_search_rows *out, struct sf_why *why);
