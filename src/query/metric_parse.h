/* metric_parse.h - rate() and similar, and topk() and comparisons after them. The parser keeps
 * errors. */
#pragma once
#include "query/parser.h"

bool sf_metric_parse(struct sf_parser *p, struct sf_metric *m); /* false without an error: the
                                                                 * current token is not a metric */
bool sf_metric_parse_seconds(struct sf_parser *p,
                             struct sf_metrics *m); /* parses all second stages */
bool sf_metric_parse_has_compare(const struct sf_metrics *m);
