/* operations.h - spans per service and operation: counts, errors, durations. */
#pragma once
#include "store/local/engine.h"

enum sf_err sf_operations_read(struct sf_store *s, int64_t from_ns, int64_t to_ns,
                               struct sf_query_ctx *q, struct sf_operation_rows *out,
                               struct sf_why *why);
