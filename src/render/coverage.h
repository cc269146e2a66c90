/* coverage.h - how well a service's traces and profiles are joined, as JSON and text. */
#pragma once
#include "base/buf.h"
#include "model/answer/coverage.h"

void sf_coverage_json(const struct sf_coverage *c, struct sf_buf *out);
void sf_coverage_text(const struct sf_coverage *c, struct sf_buf *out);
