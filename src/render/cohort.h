/* cohort.h - the merged flame graph of a set of spans, as JSON and text. */
#pragma once
#include "base/err.h"
#include "model/answer/cohort.h"

enum sf_err sf_cohort_json(const struct sf_cohort_view *c, struct sf_buf *out, struct sf_why *why);
/* The lines above a drawing. */
void sf_cohort_words(const struct sf_cohort_view *c, struct sf_buf *out);
