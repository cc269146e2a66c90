/* origin.h - protection against requests that a foreign web page makes a browser send.
 *
 * There are two ways. A page of another site sends a request to this server (the browser reports it
 * in Sec-Fetch-Site and Origin). Or the site's own name is made to resolve to this server's address
 * (DNS rebinding): for the browser that is the same site, but the Host is not one of ours. Other
 * clients send none of these headers and reach us by our names. */
#pragma once
#include "http/request.h"
#include "serve/service.h"

/* Is the request's Host (:authority) one of our names: an address, localhost, a name without dots,
 * the machine's names, or one of service.hosts? */
bool sf_origin_is_our_host(const struct sf_service *s, const struct sf_request *r);
/* Whether a page of another origin that is not listed in cors.origins makes this request. */
bool sf_origin_is_foreign(const struct sf_service *s, const struct sf_request *r);
