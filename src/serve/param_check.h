/* param_check.h - the query parameters of a call, before anything reads one.
 *
 * A parameter that is dropped in silence widens what is requested: a misspelt service is every
 * service. So our own calls name theirs, and whatever else is there is an error. Calls in the
 * shapes of others still take what those take: a parameter that would change the answer, and does
 * not here, is an error there too, and unknown ones are counted. */
#pragma once
#include "base/err.h"
#include "http/request.h"
#include "serve/call.h"

/* INPUT: unknown, empty, repeated or undecodable. LIMIT: longer than SF_LIMIT_PARAM_LEN, on any
 * call. UNSUPPORTED: one that the route refuses. `why` has the name. */
enum sf_err sf_param_check(const struct sf_request *r, const struct sf_route *route,
                           uint64_t *out_n_unknown, struct sf_why *why);
