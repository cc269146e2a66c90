/* service_rules.h - services whose data is deleted earlier than that of their tenant: by age, or
 * because they take too much space.
 *
 * A block of one tenant contains several services. If it is past the age of a service, it is
 * rewritten without it; likewise the oldest data beyond the size limit of a service, whose part of
 * a block is estimated by its share of the rows. A block in whose time a pinned trace began is kept
 * until the pin ends. Blocks of several tenants (level 0) are processed after they are merged. */
#pragma once
#include "store/local/engine.h"

/* Rewrites a few blocks that are due. The caller holds merge_lock. */
enum sf_err sf_service_rules_work(struct sf_local *l, struct sf_why *why);
