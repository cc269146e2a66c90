/* span_figures.h - exact figures of time that spans carry themselves (collect/lib/span_cost.h). */
#pragma once
#include "link/ledger.h"

struct sf_link_set; /* join/link_set.h */

enum { SF_SPAN_FIGURE_CPU = 0, SF_SPAN_FIGURES = 9 };
struct sf_span_figures { /* as carried by a span; SF_LEDGER_UNSAID: not carried */
    int64_t ns[SF_SPAN_FIGURES];
    int32_t runnable; /* mean number of runnable threads of the host; not a time */
    /* Bits of figures that cannot be true, and are not carried. */
    uint32_t negative : SF_SPAN_FIGURES; /* or not a whole number */
    uint32_t longer : SF_SPAN_FIGURES;   /* than the span */
    uint32_t together : SF_SPAN_FIGURES; /* with another longer than the span, of one thread */
};

struct sf_span_figures sf_span_figures_read(const struct sf_span *s);
/* For the span without its children on the same thread; SF_LEDGER_UNSAID if it, or such a child,
 * does not carry the figure. `span` is one of the trace's own. */
struct sf_ledger_exact sf_span_figures_of(const struct sf_link_set *set, uint32_t span);
/* The runnable threads of its host during the span; SF_LEDGER_UNSAID: not carried. */
int64_t sf_span_figures_runnable(const struct sf_link_set *set, uint32_t span);
/* Adds a sentence to *io about the span's figures that cannot be true, and are left out; without
 * `span` (SF_NOBODY), about the number of such spans. False: `req` is full. */
bool sf_span_figures_say(const struct sf_link_set *set, uint32_t span, struct sf_arena *req,
                         sf_str *io);
