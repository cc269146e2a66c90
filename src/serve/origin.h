/* origin.h - protection against requests that a foreign web page makes a browser send.
 *
 * Two ways exist. A page of another site sends a request to us (the browser reports it in
 * Sec-Fetch-Site and Origin). Or its own name is made to mean our address (DNS rebinding): to the
 * browser that is one site, but the Host is not one of ours. Other clients send none of these
 * headers and reach us by our names. */
#pragma once
#include "http/request.h"
#include "serve/service.h"

/* Is the request's Host (:authority) one of our names: an address, localhost, a name without dots,
 * the machine's names, or one of service.hosts? */
bool sf_origin_is_our_host(const struct sf_service *s, const struct sf_request *r);
/* Does a page of another origin, that is not one of cors.origins, make this request? */
bool sf_origin_is_foreign(const struct sf_service *s, const struct sf_request *r);
