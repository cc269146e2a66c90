/* span_columns.h - rows of whole traces whose columns are read on request.
 *
 * The store's view of a granule: callers request the most selective column first, and the next one
 * only while rows are left. Everything is borrowed from the store until it returns the next rows.
 * One thread at a time. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/select.h"
#include "model/span_rows.h"

struct sf_span_columns;

/* Rows that are returned one after another and whose results can be cached together: a group takes
 * much less memory than its granules. */
struct sf_column_group {
    uint64_t number;        /* 0: the rows are in no group */
    int64_t min_ns, max_ns; /* starts of all its rows are within these */
    bool is_end;            /* these are its last rows, possibly none */
    /* Set with the last rows if all rows of the group were returned. Stores the group's result. */
    void (*keep)(struct sf_span_columns *c, sf_bytes question, sf_bytes result);
};

/* What a query computes of spans that it cannot tell apart, besides their number. */
enum sf_span_measure {
    SF_MEASURE_NONE,
    SF_MEASURE_LEAST,
    SF_MEASURE_MOST,
    SF_MEASURE_SUM,
    SF_MEASURE_POWERS /* how many values are in (2^(k-1), 2^k], for each k */
};

/* For a query that counts spans one by one: which spans it cannot tell apart. Those whose requested
 * columns (but start, duration and the measured value) are equal, and whose
 * - starts are in the same step: (from + i * step, from + (i + 1) * step], and `from` itself if
 *   is_closed; starts outside of the steps are not needed at all
 * - durations compare alike (less, equal or greater) with each of `durations`
 * - measured values have the same type, and with POWERS the same k. */
struct sf_span_grouping {
    int64_t from_ns, step_ns;
    uint32_t n_steps;
    bool is_closed;
    const int64_t *durations;
    uint32_t n_durations;
    enum sf_span_measure measure;
    /* The measured attribute: of spans (scope SPAN, or ANY: of resources if the span has no value),
     * one of want_keys; with an empty name, the duration. */
    struct sf_key measured;
};

struct sf_span_columns {
    struct sf_span_rows rows; /* with the columns read so far; n_rows may exceed SF_ROWS_MAX */
    uint64_t tables;          /* equal numbers: the same rows.resources and rows.scopes; never 0 */
    uint32_t n_traces;
    const sf_trace_id *trace_ids; /* SF_COL_TRACES */
    const uint32_t *firsts;       /* SF_COL_TRACES: first row of each trace; one more at the end */
    const uint8_t *is_parted;     /* for each trace: it may have rows outside of these; NULL: any
                                   * trace may */
    struct sf_arena *scratch;     /* for the caller; emptied with the rows */
    int64_t min_ns, max_ns;       /* if `keep` is set: starts of the rows are within these */
    bool has_strays;              /* some starts may be outside of these bounds */
    /* Reads columns (enum sf_column; not ATTRS, EVENTS, LINKS or REST) that are not there yet.
     * CORRUPT: these rows cannot be read, which the store has noted; the next ones can. */
    enum sf_err (*add)(struct sf_span_columns *c, uint32_t columns, struct sf_why *why);
    /* Reads one attribute of every row. */
    enum sf_err (*value)(struct sf_span_columns *c, const struct sf_key *key,
                         struct sf_value_column *out, struct sf_why *why);
    /* Cache for results computed from these rows, which never change. `question` is the key: bytes
     * that contain everything the result depends on besides the rows. `recall` returns a stored
     * result, in `scratch`; false: none. Both NULL: the rows may differ next time, so that nothing
     * may be cached. */
    bool (*recall)(struct sf_span_columns *c, sf_bytes question, sf_bytes *out);
    void (*keep)(struct sf_span_columns *c, sf_bytes question, sf_bytes result);
    /* A stored result of a whole group, returned instead of its rows: rows.n_rows is their number,
     * and nothing else may be read. Empty: these are rows. */
    sf_bytes recalled;
    struct sf_column_group group;
    /* With a grouping: for each row, how many spans the store found that cannot be told apart from
     * this one, which is one of them: with LEAST or MOST, one with the least or largest value.
     * `sums` (with SUM) has the sums of their values, durations in nanoseconds; NaN: each has the
     * value of this one. NULL: each row is one span. */
    const uint64_t *n_same;
    const double *sums;
};

/* Decides which traces can match. `hits` has a byte per trace, 1 where the caller needs a result;
 * it may write 0 only if that is certain, also for traces that may be parted. */
struct sf_span_judge {
    enum sf_err (*judge)(void *arg, struct sf_span_columns *c, uint8_t *hits, struct sf_why *why);
    void *arg;
    bool wants_parts; /* is_parted is needed */
    /* Bytes that contain everything the decision depends on besides the rows, including the
     * conditions given to the store. The store may then skip granules in which nothing was found
     * before. Empty: it depends on more. */
    sf_bytes question;
};
