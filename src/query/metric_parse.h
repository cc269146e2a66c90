/* metric_parse.h - rate() and its kin, topk() and comparisons behind them. Faults stick in the
 * parser. */
#pragma once
#include "query/parser.h"

bool sf_metric_parse(struct sf_parser *p,
                     struct sf_metric *m); /* false without a fault: no metric in hand */
bool sf_metric_parse_seconds(struct sf_parser *p,
                             struct sf_metrics *m); /* as many second stages as there are */
bool sf_metric_parse_has_compare(const struct sf_metrics *m);
