/* host.h - addresses to listen on. */
#pragma once
#include <stdbool.h>

/* Whether other machines can reach a server that listens on `host`: false only for loopback
 * addresses and "localhost". Other names count as public, because their address may change. */
bool sf_host_is_public(const char *host);
/* Whether it means all addresses of this machine: 0.0.0.0 or ::. */
bool sf_host_is_any(const char *host);
