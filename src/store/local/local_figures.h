/* local_figures.h - state and statistics of the embedded store. */
#pragma once
#include "store/local/engine.h"

enum sf_err sf_local_figures_state(struct sf_store *s, struct sf_store_state *out,
                                   struct sf_why *why);
void sf_local_figures(struct sf_store *s, sf_store_figure_fn say, void *arg);
