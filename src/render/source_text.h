/* source_text.h - a function's source with what each line cost, as text. */
#pragma once
#include "base/buf.h"
#include "flame/tree_lines.h"

struct sf_source_text {
    const struct sf_line_cost *rows; /* of one file, by line */
    uint32_t n;
    sf_str unit;
    int64_t whole;    /* what percentages are of */
    sf_str source;    /* all of the file; empty: it cannot be read */
    sf_str why;       /* why not, in words */
    uint32_t context; /* lines before the first and after the last */
    bool is_estimate;
};

void sf_source_text(const struct sf_source_text *t, struct sf_buf *out);
