/* waterfall.h - a trace drawn for a terminal: tree, bars, durations, errors, critical path.
 *
 *   service   operation                 0        312 ms       625 ms
 *   gateway   GET /checkout             ####=========================####   1.25 s
 *   order       order.calculate_totals      #########################       980 ms !
 *
 * '#' is time on the critical path, '=' the rest of a span, '!' an error. */
#pragma once
#include "base/buf.h"
#include "model/span.h"

struct sf_waterfall_row { /* in display order */
    const struct sf_span *span;
    sf_str service;
    uint32_t depth;
    sf_str note;      /* shown after the duration, or below it if there is no space; may be empty */
    int64_t shift_ns; /* converts its times to the clock of the trace */
};

struct sf_waterfall_mark { /* a segment of the critical path */
    uint32_t row;
    uint64_t from_ns, to_ns;
};

struct sf_waterfall {
    sf_trace_id trace_id;
    const struct sf_waterfall_row *rows;
    uint32_t n_rows;
    const struct sf_waterfall_mark *marks; /* sorted by row */
    uint32_t n_marks;
    uint32_t n_unwaited; /* spans that end after all their ancestors */
    uint64_t start_ns, end_ns;
    uint32_t columns; /* of the terminal; at least 40 are used */
    bool has_ids;     /* write the spans' ids before them, where columns allow it */
    bool has_numbers; /* write the rows' numbers, from 1 on */
    bool has_color;
};

void sf_waterfall_render(const struct sf_waterfall *w, struct sf_buf *out);
