/* host.h - addresses to listen on. */
#pragma once
#include <stdbool.h>

/* Can other machines reach a server that listens on `host`? All but loopback addresses and
 * "localhost" can: a name is taken for public because what it means may change. */
bool sf_host_is_public(const char *host);
/* Is it an address that represents all of this machine's, 0.0.0.0 or ::? */
bool sf_host_is_any(const char *host);
