/* span_profile.h - the flame graph of a span and its precision, as JSON and text. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "model/answer/span_profile.h"

enum sf_err sf_span_profile_json(const struct sf_span_profile *p, struct sf_buf *out,
                                 struct sf_why *why);
/* One or two lines for a drawing: counts by match quality, reliability, the reason. */
void sf_span_profile_words(const struct sf_span_profile *p, struct sf_buf *out);
