/* auth.h - who may do what: the token a request carries, or the user a proxy in front has signed
 * in. */
#pragma once
#include "http/request.h"
#include "serve/service.h"

/* Does a proxy we believe say who this is? */
bool sf_auth_is_signed_in(const struct sf_service *s, const struct sf_request *r);
/* What the caller may do; all of it when nobody is asked. `out` begins zeroed; its tenants are the
 * caller's to free. UNAUTHENTICATED is NOT_FOUND here: nobody, or nobody we know; `why` says what
 * to send. DENIED: somebody, but they may nothing. */
enum sf_err sf_auth_grant(const struct sf_service *s, const struct sf_request *r,
                          struct sf_grant *out, struct sf_why *why);
/* Do all tenants of a checked X-Scope-OrgID ("a|b") belong to the caller? */
bool sf_auth_has_tenants(const struct sf_grant *g, sf_str header);
