/* service_rules.h - services whose data goes sooner than that of their tenant: by age, or because
 * they take too much space.
 *
 * A block of one tenant holds several services. One that is past the age of a service is rewritten
 * without it; so is, from the oldest on, what is beyond the space of a service, whose part of a
 * block is its share of the rows. A block in whose time a pinned trace began waits until the pin
 * ends. Blocks of several tenants (level 0) wait until they are merged. */
#pragma once
#include "store/local/engine.h"

/* Rewrites a few blocks that are due. The caller holds merge_lock. */
enum sf_err sf_service_rules_work(struct sf_local *l, struct sf_why *why);
