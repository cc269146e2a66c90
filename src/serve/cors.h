/* cors.h - cross-origin requests: pages of the configured origins may call the API; none by
 * default. */
#pragma once
#include "http/request.h"
#include "serve/service.h"

/* Is this origin listed? */
bool sf_cors_has(const struct sf_service *s, sf_str origin);
/* Adds the headers a listed origin needs. False: no origin was named or it is not listed. */
bool sf_cors_allow(const struct sf_service *s, const struct sf_request *r,
                   struct sf_response *response);
/* Answers a CORS preflight request (OPTIONS). False: the request is none, or its origin is not
 * listed. `methods` are those of the path. */
bool sf_cors_preflight(const struct sf_service *s, const struct sf_request *r, sf_str methods,
                       struct sf_response *response);
