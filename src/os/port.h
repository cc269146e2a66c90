/* port.h - TCP ports on loopback. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

bool sf_port_is_free(uint16_t port); /* no process listens on 127.0.0.1:port at the moment */
uint16_t sf_port_find(void);         /* a free port; 0: none */
