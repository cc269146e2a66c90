/* querier.h - querier.v1.QuerierService: the API of Grafana's Pyroscope data source, over Connect
 * in protobuf and JSON and over gRPC. */
#pragma once
#include "serve/call.h"

bool sf_querier_types(struct sf_call *call, struct sf_worker *worker);
bool sf_querier_label_names(struct sf_call *call, struct sf_worker *worker);
bool sf_querier_label_values(struct sf_call *call, struct sf_worker *worker);
bool sf_querier_series(struct sf_call *call, struct sf_worker *worker);
bool sf_querier_tree_stacktraces(struct sf_call *call, struct sf_worker *worker);
bool sf_querier_tree_spans(struct sf_call *call, struct sf_worker *worker);
bool sf_querier_points(struct sf_call *call, struct sf_worker *worker);
bool sf_querier_tree_profile(struct sf_call *call, struct sf_worker *worker);
bool sf_querier_heatmap(struct sf_call *call, struct sf_worker *worker);
bool sf_querier_tree_diff(struct sf_call *call, struct sf_worker *worker);
bool sf_querier_analyze(struct sf_call *call, struct sf_worker *worker);
bool sf_querier_stats(struct sf_call *call, struct sf_worker *worker);
