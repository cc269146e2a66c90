/* alert_tenants.h - the services watched by the built-in alerts, per tenant. */
#pragma once
#include "serve/alerts/alerts_private.h"

/* Of one tenant, made when there is none. NULL: there are too many, or no memory. For the thread
 * that evaluates. */
struct sf_watch *sf_alert_tenants_watch(struct sf_alerts *a, sf_str tenant);
/* One of each tenant that the store knows, in the order they came; what data without a tenant was
 * filed under comes last. Counts those that are left out. */
void sf_alert_tenants_see(struct sf_alerts *a, struct sf_store *store);
/* How a rule of the set fares; of a rule for each tenant: with that one. NULL: it is not watched.
 * With the lock. */
struct sf_alert_health *sf_alert_tenants_health(struct sf_alerts *a, size_t index, sf_str tenant);
