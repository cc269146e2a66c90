/* link_meanwhile.h - attributes samples without ids to the spans of a trace or a set by thread.
 *
 * Some senders tag a request and lose its id while it runs (Java's agents, whenever a child ends),
 * others report only threads. For a single span, join/link_set.h reads what its process did
 * meanwhile; here this is done for all spans at once: for each process, the time ranges in which
 * its spans ran, the samples in them that have a time and a thread but no id, and the spans of
 * other requests. A sample belongs to a span if the span says that it ran on that thread at that
 * time, and no other request had a span on it.
 *
 * The cost is bounded by limits on processes, ranges and rows and by a share of the query's time.
 * If a limit is exceeded, all such samples are left out, so that no span or side gets more of them
 * than another, and the answer says so. */
#pragma once
#include "join/link_load.h"

/* For loads of several spans; `traces` is sorted. */
enum sf_err sf_link_meanwhile_add(struct sf_link_load *l, const sf_trace_id *traces,
                                  uint32_t n_traces, struct sf_why *why);
/* Call after all samples were added: sets the threads of the spans, and drops samples of threads on
 * which another request had a span at that time. */
enum sf_err sf_link_meanwhile_settle(struct sf_link_load *l, struct sf_why *why);
