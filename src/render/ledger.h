/* ledger.h - the time breakdown of a span, as JSON and as text. */
#pragma once
#include "base/buf.h"
#include "model/answer/ledger.h"

void sf_ledger_json(const struct sf_ledger_view *v, struct sf_buf *out);
/* A bar for each part that has time, largest first. */
void sf_ledger_text(const struct sf_ledger_view *v, uint32_t columns, struct sf_buf *out);
