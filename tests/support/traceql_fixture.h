/* traceql_fixture.h - three small traces that show every corner of TraceQL: a normal one with
 * errors, events and arrays (a1-a6), a tiny one with a link (b1, b2), and one whose root never
 * arrived (c2, c3). Span xN has the id x00000000000000N. */
#pragma once
#include "model/span.h"

enum { TRACEQL_FIXTURE_SPANS = 10 };

/* Static content, times relative to `t0_ns`. Traces follow each other: 6, 2 and 2 spans. */
const struct sf_span_batch *traceql_fixture(uint64_t t0_ns);
/* "a3" for its span id; "??" for any other. */
const char *traceql_fixture_name(sf_span_id id);
