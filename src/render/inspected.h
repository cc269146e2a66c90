/* inspected.h - the cost of a query, as Tempo's SearchMetrics. */
#pragma once
#include "model/answer/inspected.h"
#include "wire/json_write.h"

void sf_inspected_json(struct sf_json_writer *w, struct sf_inspected x); /* "metrics":{…} */
void sf_inspected_pb(struct sf_buf *out, struct sf_inspected x);         /* field 2 */
