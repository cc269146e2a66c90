/* grades.h - sample counts by match quality: exact, subtree, inherited, shared, window. */
#pragma once
#include "base/buf.h"
#include "model/answer/grades.h"
#include "wire/json_write.h"

void sf_grades_json(const struct sf_grades *g, struct sf_json_writer *w); /* "grades":{...} */
const char *sf_grades_name(enum sf_grade_row row);                        /* "exact" */
/* The number of profiler samples for a part of the value, of `taken` in all: a profile that adds up
 * equal stacks has one record for several samples. `n` is the number of records. */
double sf_grades_taken(const struct sf_grades *g, double taken, int64_t value, uint64_t n);
/* ", 4 exact, 2 shared", for that number of samples. */
void sf_grades_words(const struct sf_grades *g, double taken, struct sf_buf *out);
/* "few samples" for the API's value "thin". */
const char *sf_grades_trust(const char *trust);
