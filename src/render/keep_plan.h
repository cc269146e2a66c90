/* keep_plan.h - what each retention rule would keep: JSON, and a table. */
#pragma once
#include "base/buf.h"
#include "model/answer/keep_plan.h"

void sf_keep_plan_json(const struct sf_keep_plan *p, struct sf_buf *out);
void sf_keep_plan_text(const struct sf_keep_plan *p, struct sf_buf *out);
