/* remote_figures.h - statistics of a node that ships to ClickHouse, for /metrics. */
#pragma once
#include "model/answer/remote_state.h"
#include "store/clickhouse/upkeep.h"
#include "store/store.h"

struct sf_remote_figures {
    struct sf_remote_counts ship;
    struct sf_upkeep_counts upkeep;
    struct sf_move_counts move;
    uint64_t n_rounds; /* of queries */
    uint64_t n_grouped;
};

void sf_remote_figures_say(const struct sf_remote_figures *f, sf_store_figure_fn say, void *arg);
