/* link_meanwhile.h - samples without ids that threads give to the spans of a trace or a set.
 *
 * Some senders name a request and lose its id while it runs (Java's agents, whenever a child ends),
 * others name nothing but threads. One span asks what its process did meanwhile (join/link_set.h);
 * here the same is queried for all spans at once: process by process, the time ranges in which
 * spans ran there, the samples in them that have a time and a thread and no id, and the spans of
 * other requests. A sample is a span's when the span says that it ran on that thread then, and no
 * other request had a span on it.
 *
 * The cost is bounded: so many processes, ranges, rows and a part of the query's time. Beyond it
 * all such samples are left out, so that no span or side has more of them than another, and the
 * answer reports it. */
#pragma once
#include "join/link_load.h"

/* For loads of several spans; `traces` is sorted. */
enum sf_err sf_link_meanwhile_add(struct sf_link_load *l, const sf_trace_id *traces,
                                  uint32_t n_traces, struct sf_why *why);
/* With all samples there: sets the threads of the spans, and drops samples of threads on which
 * another request had a span then. */
enum sf_err sf_link_meanwhile_settle(struct sf_link_load *l, struct sf_why *why);
