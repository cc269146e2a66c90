/* link_aggregate.h - what a process did around a span, from profiles without ids and times. */
#pragma once
#include "join/link_load.h"

/* Each profile covers its own length: it is shared by all that ran in its process then, so a span
 * gets its part of each that covers it. Where most of it names some span the rest is background
 * work; where all of it has times, none of these fell into the span. */
enum sf_err sf_link_aggregate_add(struct sf_link_load *l, struct sf_why *why);
