/* port.h - TCP ports of this machine's loopback. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

bool sf_port_is_free(uint16_t port); /* nobody listens on 127.0.0.1:port just now */
uint16_t sf_port_find(void);         /* some free one; 0: none to be had */
