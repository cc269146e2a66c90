/* auth.h - who may do what: the token a request carries. */
#pragma once
#include "http/message.h"
#include "serve/service.h"

/* The token of `Authorization: Bearer`, of HTTP basic (as password) or of the further header; in
 * `room` when it had to be decoded. False: there is none. */
bool sf_auth_token(const struct sf_request *r, sf_str header, struct sf_buf *room, sf_str *out);
/* What the caller may do; all of it when no tokens are asked for. `out_has_token` tells a missing
 * token from an unknown one. */
unsigned sf_auth_scopes(const struct sf_service *s, const struct sf_request *r,
                        bool *out_has_token);
