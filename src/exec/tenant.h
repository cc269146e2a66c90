/* tenant.h - whose data a request is about: X-Scope-OrgID. */
#pragma once
#include "base/err.h"
#include "store/store.h"

enum { SF_TENANTS_MAX = 32 }; /* of one read, "a|b" */

/* Is it the name of one tenant? INPUT. */
enum sf_err sf_tenant_check_name(sf_str name, struct sf_why *why);
/* Checks the header's words. `can_be_several` on reads. INPUT with a sentence. */
enum sf_err sf_tenant_check(sf_str header, bool can_be_several, struct sf_why *why);
/* The numbers of the tenants a checked header names, sorted, without repeats. A write makes its
 * tenant (may wait for the disk); a read leaves unknown ones out, so there may be none. */
enum sf_err sf_tenant_find(struct sf_store *store, sf_str header, bool can_create,
                           uint32_t out[SF_TENANTS_MAX], size_t *out_n, struct sf_why *why);
