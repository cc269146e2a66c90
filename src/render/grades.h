/* grades.h - how samples came to spans, counted: exact, subtree, inherited, shared, window. */
#pragma once
#include "base/buf.h"
#include "base/num.h"
#include "wire/json_writer.h"

enum sf_grade_row {
    SF_GRADE_ROW_EXACT,
    SF_GRADE_ROW_SUBTREE,
    SF_GRADE_ROW_INHERITED,
    SF_GRADE_ROW_SHARED,
    SF_GRADE_ROW_WINDOW,
    SF_GRADE_ROWS
};

struct sf_grades {
    struct {
        uint64_t n_samples;
        int64_t value;
    } rows[SF_GRADE_ROWS];
    uint64_t n_samples; /* of all */
};

static inline int64_t sf_grades_value(const struct sf_grades *g)
{
    int64_t sum = 0;
    for (int i = 0; i < SF_GRADE_ROWS; i++)
        sum = sf_add_sat_i64(sum, g->rows[i].value);
    return sum;
}

void sf_grades_json(const struct sf_grades *g, struct sf_json_writer *w); /* "grades":{...} */
void sf_grades_words(const struct sf_grades *g, struct sf_buf *out); /* ", 4 exact, 2 shared" */
