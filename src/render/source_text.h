/* source_text.h - a function's source code with the cost of each line, as text. */
#pragma once
#include "base/buf.h"
#include "flame/tree_lines.h"

struct sf_source_text {
    const struct sf_line_cost *rows; /* of one file, sorted by line */
    uint32_t n;
    sf_str unit;
    int64_t whole;    /* base of percentages */
    sf_str source;    /* the whole file; empty: it could not be read */
    sf_str why;       /* why not */
    uint32_t context; /* lines to show before the first and after the last */
    bool is_estimate;
};

void sf_source_text(const struct sf_source_text *t, struct sf_buf *out);
