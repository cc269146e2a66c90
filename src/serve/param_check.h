/* param_check.h - checks the query parameters of a call before its handler reads them.
 *
 * A silently ignored parameter would widen the request: with a misspelt `service` it would cover
 * every service. So our own calls list their parameters, and any other is an error. Calls of
 * compatible APIs accept the parameters of the original: one that would change the answer there and
 * is not supported here is an error too, and unknown ones are counted. */
#pragma once
#include "base/err.h"
#include "http/request.h"
#include "serve/call.h"

/* INPUT: unknown, empty, repeated or undecodable. LIMIT: longer than SF_LIMIT_PARAM_LEN, on any
 * call. UNSUPPORTED: a parameter that the route refuses. `why` names it. */
enum sf_err sf_param_check(const struct sf_request *r, const struct sf_route *route,
                           uint64_t *out_n_unknown, struct sf_why *why);
