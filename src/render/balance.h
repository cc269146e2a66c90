/* balance.h - which part of a service's samples is attributed to spans, and which is not, as
 * JSON. */
#pragma once
#include "base/buf.h"
#include "model/answer/balance.h"

void sf_balance_json(const struct sf_balance *b, struct sf_buf *out);
