/* port_owner.h - which process holds a port, as far as /proc tells. */
#pragma once
#include <stdint.h>

/* The pid of a process listening on TCP `port`; 0: unknown (none, or it belongs to another user).
 */
int sf_port_owner(uint16_t port);
/* A port from `port` + 1 on that can be bound on loopback just now; 0: none near. */
uint16_t sf_port_owner_free_after(uint16_t port);
