#include "serve/cors.h"

bool sf_cors_has(const struct sf_service *s, sf_str origin)
{
    for (size_t i = 0; i < s->n_cors_origins; i++) {
        sf_str listed = sf_str_from(s->cors_origins[i]);
        if (sf_str_eq(listed, SF_STR("*")) || sf_str_ieq(listed, origin))
            return true;
    }
    return false;
}

bool sf_cors_allow(const struct sf_service *s, const struct sf_request *r,
                   struct sf_response *response)
{
    sf_str origin = sf_request_header(r, SF_STR("origin"));
    if (s->n_cors_origins == 0 || origin.len == 0 || !sf_cors_has(s, origin))
        return false;
    sf_response_header(response, "access-control-allow-origin", origin);
    sf_response_header(response, "vary", SF_STR("Origin"));
    sf_response_header(response, "access-control-expose-headers", SF_STR("retry-after"));
    return true;
}

bool sf_cors_preflight(const struct sf_service *s, const struct sf_request *r, sf_str methods,
                       struct sf_response *response)
{
    sf_str asked = sf_request_header(r, SF_STR("access-control-request-headers"));
    if (r->method != SF_METHOD_OPTIONS ||
        sf_request_header(r, SF_STR("access-control-request-method")).len == 0 ||
        !sf_cors_allow(s, r, response))
        return false;
    sf_response_header(response, "access-control-allow-methods", methods);
    if (asked.len)
        sf_response_header(response, "access-control-allow-headers", asked);
    sf_response_header(response, "access-control-max-age", SF_STR("7200"));
    response->status = 204;
    return true;
}
