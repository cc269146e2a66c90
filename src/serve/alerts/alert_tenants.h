/* alert_tenants.h - the services watched by the built-in alerts, per tenant. */
#pragma once
#include "serve/alerts/alerts_private.h"

/* The tenant's watched services; created when missing. NULL: too many tenants, or no memory. For
 * the evaluating thread. */
struct sf_watch *sf_alert_tenants_watch(struct sf_alerts *a, sf_str tenant);
/* Adds each tenant that the store knows, in the order they came; the tenant of data sent without
 * one comes last. Counts tenants that are left out. */
void sf_alert_tenants_see(struct sf_alerts *a, struct sf_store *store);
/* Health of a rule of the set; for a rule that runs per tenant, with this tenant. NULL: the tenant
 * is not watched. The caller holds the lock. */
struct sf_alert_health *sf_alert_tenants_health(struct sf_alerts *a, size_t index, sf_str tenant);
