/* batch_make.h - span batches as no sane program sends them: every kind of value, nested, empty and
 * long strings, extreme numbers. What round-trip properties are tried on. */
#pragma once
#include "support/otlp_make.h"

/* Up to `max_spans` spans in the arena. Strings are UTF-8, so that JSON can carry them. Resources
 * and scopes are all used, in order, as a decoder would number them. */
void sf_batch_make(struct sf_otlp_make *m, uint32_t max_spans, struct sf_arena *req,
                   struct sf_span_batch *out);
