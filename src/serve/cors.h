/* cors.h - pages of listed origins may call us; none by default. */
#pragma once
#include "http/request.h"
#include "serve/service.h"

/* Is this origin listed? */
bool sf_cors_has(const struct sf_service *s, sf_str origin);
/* Adds the headers a listed origin needs. False: no origin was named or it is not listed. */
bool sf_cors_allow(const struct sf_service *s, const struct sf_request *r,
                   struct sf_response *response);
/* An OPTIONS request that asks before the real one: answers it. False: it is not one, or its origin
 * is not listed. `methods` is what the path takes. */
bool sf_cors_preflight(const struct sf_service *s, const struct sf_request *r, sf_str methods,
                       struct sf_response *response);
