/* span_clocks.h - the spans of a trace on one clock, and what was done for that. */
#pragma once
#include "link/clock_fix.h"
#include "model/answer/clocks.h"
#include "model/span.h"

/* The tree of a trace's spans, on one clock. Both live in `req`. LIMIT: it is full. */
enum sf_err sf_span_clocks_make(const struct sf_span_batch *b, struct sf_arena *req,
                                struct sf_span_tree *out_tree, struct sf_clocks_view *out,
                                struct sf_why *why);

/* The rows an answer shows, with the services of the spans: the first of them. False: no space. */
bool sf_span_clocks_say(const struct sf_clock_fix *fix, const sf_str *services,
                        struct sf_arena *req, struct sf_clocks_view *out);
/* Of one span: what its own times were moved by, and the rows of its process, of those above it and
 * of what it calls. False: no space. */
bool sf_span_clocks_of(const struct sf_span_tree *t, const struct sf_clock_fix *fix,
                       const sf_str *services, uint32_t span, struct sf_arena *req,
                       struct sf_clocks_view *out);
