/* auth.h - authorization: the token of a request, or the user authenticated by a proxy. */
#pragma once
#include "http/request.h"
#include "serve/service.h"

/* Does a trusted proxy identify the user? */
bool sf_auth_is_signed_in(const struct sf_service *s, const struct sf_request *r);
/* The caller's permissions; all of them without authentication. `out` begins zeroed; its tenants
 * are the caller's to free. NOT_FOUND: missing or unknown credentials; `why` says what to send.
 * DENIED: an identified user without any permission. */
enum sf_err sf_auth_grant(const struct sf_service *s, const struct sf_request *r,
                          struct sf_grant *out, struct sf_why *why);
/* Do all tenants of a checked X-Scope-OrgID ("a|b") belong to the caller? */
bool sf_auth_has_tenants(const struct sf_grant *g, sf_str header);
