/* comparison.h - two sets of spans compared per request, as JSON and as text. */
#pragma once
#include "base/buf.h"
#include "model/answer/comparison.h"

void sf_comparison_json(const struct sf_comparison *c, struct sf_buf *out);
void sf_comparison_text(const struct sf_comparison *c, struct sf_buf *out);
