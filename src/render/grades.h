/* grades.h - how samples came to spans, counted: exact, subtree, inherited, shared, window. */
#pragma once
#include "base/buf.h"
#include "model/answer/grades.h"
#include "wire/json_write.h"

void sf_grades_json(const struct sf_grades *g, struct sf_json_writer *w); /* "grades":{...} */
const char *sf_grades_name(enum sf_grade_row row);                        /* "exact" */
void sf_grades_words(const struct sf_grades *g, struct sf_buf *out); /* ", 4 exact, 2 shared" */
/* "few samples": what the API calls "thin". */
const char *sf_grades_trust(const char *trust);
