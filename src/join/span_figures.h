/* span_figures.h - exact figures of time that spans carry themselves (collect/lib/span_cost.h). */
#pragma once
#include "join/link_set.h"
#include "link/ledger.h"

/* Of the span without its children on the same thread; SF_LEDGER_UNSAID where it says nothing, or a
 * child there does not. `span` is one of the trace's own. */
struct sf_ledger_exact sf_span_figures_of(const struct sf_link_set *set, uint32_t span);
