/* tenant.h - the tenants of a request: X-Scope-OrgID. */
#pragma once
#include "base/err.h"
#include "store/store.h"

enum { SF_TENANTS_MAX = 32 }; /* at most this many tenants in one read, "a|b" */

/* Is it a valid name of one tenant? INPUT. */
enum sf_err sf_tenant_check_name(sf_str name, struct sf_why *why);
/* Checks the header. `can_be_several` for reads. INPUT with a message. */
enum sf_err sf_tenant_check(sf_str header, bool can_be_several, struct sf_why *why);
/* The numbers of the tenants in a checked header, sorted, without duplicates. A write creates its
 * tenant (may wait for the disk); a read leaves unknown ones out, so the list may be empty. */
enum sf_err sf_tenant_find(struct sf_store *store, sf_str header, bool can_create,
                           uint32_t out[SF_TENANTS_MAX], size_t *out_n, struct sf_why *why);
