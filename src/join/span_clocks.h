/* span_clocks.h - puts the spans of a trace on one clock, and reports the corrections. */
#pragma once
#include "link/clock_fix.h"
#include "model/answer/clocks.h"
#include "model/span.h"

/* Makes the tree of a trace's spans, on one clock. Both results are in `req`. LIMIT: it is full. */
enum sf_err sf_span_clocks_make(const struct sf_span_batch *b, struct sf_arena *req,
                                struct sf_span_tree *out_tree, struct sf_clocks_view *out,
                                struct sf_why *why);

/* The first rows for an answer, with the services of the spans. False: no space. */
bool sf_span_clocks_say(const struct sf_clock_fix *fix, const sf_str *services,
                        struct sf_arena *req, struct sf_clocks_view *out);
/* For one span: the correction of its own times, and the rows of its service, of those of its
 * ancestors and of those it calls. False: no space. */
bool sf_span_clocks_of(const struct sf_span_tree *t, const struct sf_clock_fix *fix,
                       const sf_str *services, uint32_t span, struct sf_arena *req,
                       struct sf_clocks_view *out);
