/* auth.h - who may do what: the token a request carries. */
#pragma once
#include "http/message.h"
#include "serve/service.h"

/* What the caller may do; all of it when no tokens are asked for. `out_has_token` tells a missing
 * token from an unknown one. */
unsigned sf_auth_scopes(const struct sf_service *s, const struct sf_request *r,
                        bool *out_has_token);
