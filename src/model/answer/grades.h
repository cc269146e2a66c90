/* grades.h - answer: samples of spans, counted by match quality. */
#pragma once
#include "base/num.h"
#include "base/str.h"

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
    uint64_t n_samples; /* of all grades */
};

static inline int64_t sf_grades_value(const struct sf_grades *g)
{
    int64_t sum = 0;
    for (int i = 0; i < SF_GRADE_ROWS; i++)
        sum = sf_add_sat_i64(sum, g->rows[i].value);
    return sum;
}
