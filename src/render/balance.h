/* balance.h - what of a service's samples its spans got, and what no span got, as JSON. */
#pragma once
#include "base/buf.h"
#include "model/answer/balance.h"

void sf_balance_json(const struct sf_balance *b, struct sf_buf *out);
