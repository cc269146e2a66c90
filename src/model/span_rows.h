/* span_rows.h - rows of spans as returned by the store: up to SF_ROWS_MAX rows as columns.
 *
 * A column not requested is NULL. Everything is borrowed from the decoded granule until the
 * cursor's next step. Rows of one trace are consecutive and, with sf_span_query.has_whole_traces,
 * complete: a trace may continue in the following batch, but not later. */
#pragma once
#include "model/profile.h"
#include "model/span.h"

#define SF_ROWS_MAX 1024

enum sf_column { /* bits of sf_span_query.columns */
                 SF_COL_PARENT = 1 << 0,
                 SF_COL_TIMES = 1 << 1, /* start, end */
                 SF_COL_KIND = 1 << 2,  /* kind, status */
                 SF_COL_NAME = 1 << 3,
                 SF_COL_RESOURCE = 1 << 4,
                 SF_COL_SCOPE = 1 << 5,
                 SF_COL_STATUS_MSG = 1 << 6,
                 SF_COL_ATTRS =
                     1 << 7, /* whole attribute lists; single keys come through want_keys */
                 SF_COL_EVENTS = 1 << 8,
                 SF_COL_LINKS = 1 << 9,
                 SF_COL_REST = 1 << 10, /* trace state, flags, dropped counts */
                 SF_COL_ALL = (1 << 11) - 1,
                 SF_COL_START = 1 << 11,    /* only the start of TIMES */
                 SF_COL_DURATION = 1 << 12, /* duration_ns */
                 /* For rows that are read column by column (model/span_columns.h): */
                 SF_COL_TRACES = 1 << 16, /* ids and first rows, one per trace */
                 SF_COL_IDS = 1 << 17     /* trace_id and span_id */
};

struct sf_str_column { /* row i has the value dict[code[i]]; a condition is evaluated once per
                        * dictionary entry */
    const uint32_t *code;
    const sf_str *dict;
    uint32_t n_dict;
};

struct sf_value_column { /* row i has vals[code[i]], or nothing when code[i] is SF_NONE */
    const uint32_t *code;
    const struct sf_value *vals;
    uint32_t n_vals;
};

struct sf_span_rows {
    uint32_t n_rows;
    uint32_t tenant;             /* of all rows in this batch */
    const sf_trace_id *trace_id; /* always */
    const sf_span_id *span_id;   /* always */
    const sf_span_id *parent_id;
    const uint64_t *start_ns, *end_ns;
    const uint64_t *duration_ns; /* 0 when the end is before the start; at most INT64_MAX */
    const uint8_t *kind, *status;
    struct sf_str_column name, status_msg;
    const uint32_t *resource, *scope; /* indexes in these lists: */
    const struct sf_resource *resources;
    const struct sf_scope *scopes;
    uint32_t n_resources, n_scopes;
    const struct sf_value_column *want; /* one per want_keys entry, in that order */
    const uint8_t *is_in;               /* 0 for rows that are to be ignored; NULL: none */
    /* Whole spans with attributes, events, links and the rest. NULL unless one of ATTRS, EVENTS,
     * LINKS or REST was requested; fields of columns not requested are zero. */
    const struct sf_span *spans;
};

/* Row i as a span (a view with the available columns). */
struct sf_span sf_span_rows_get(const struct sf_span_rows *rows, uint32_t i);

/* Rows [from, from + n), for buffers as large as the columns; `want` is unchanged. */
struct sf_span_rows sf_span_rows_slice(const struct sf_span_rows *rows, uint32_t from, uint32_t n);

struct sf_detail_rows { /* nodes are indexes in the cursor's tree */
    uint32_t n_rows;
    const uint64_t *process, *thread;
    const int64_t *start_ns, *length_ns;
    const uint8_t *state;
    const uint32_t *series, *node;
    const int64_t *value;
    const sf_span_id *span_id;   /* 0: none */
    const sf_trace_id *trace_id; /* zero: none */
    const bool *has_time;        /* if not, start and length are those of its profile */
    const bool *is_lent;         /* see struct sf_sample */
    const bool *is_coarse;       /* start and length were rounded down to whole milliseconds when
                                  * stored */
};

struct sf_detail_thread {
    uint64_t process; /* as in the rows */
    struct sf_sampled_thread t;
};

/* Durations of one operation in a sketch: 128 buckets, four per power of two from 1 us (bucket i
 * ends at 1000 * 2^(i / 4) ns) to an hour; the last one is open. */
#define SF_SKETCH_BUCKETS 128

struct sf_call_count { /* counts of some spans */
    uint64_t n_spans, n_errors, sum_ns;
    uint32_t buckets[SF_SKETCH_BUCKETS];
};

struct sf_label_sets {
    const struct sf_label *labels; /* all sets back to back */
    const uint32_t *ends;          /* set i is [ends[i - 1], ends[i]) */
    uint32_t n_sets;
};
