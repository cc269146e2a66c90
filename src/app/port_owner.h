/* port_owner.h - finds the process that listens on a port, through /proc. */
#pragma once
#include <stdint.h>

/* The pid of a process listening on TCP `port`; 0: unknown (none, or it belongs to another user).
 */
int sf_port_owner(uint16_t port);
/* A port above `port` that can currently be bound on loopback; 0: none nearby. */
uint16_t sf_port_owner_free_after(uint16_t port);
