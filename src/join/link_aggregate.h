/* link_aggregate.h - samples of a process around a span, from profiles without ids and times. */
#pragma once
#include "join/link_load.h"

/* A profile covers its own duration: it is shared by all spans that ran in its process then, so a
 * span gets its share of each profile that covers it. If most of a profile names some span, the
 * rest is background work; if all of it has times, none of it was in the span. */
enum sf_err sf_link_aggregate_add(struct sf_link_load *l, struct sf_why *why);
