/* peer_net.h - addresses and networks a request may come from: 10.0.0.7, 10.0.0.0/8, fd00::/8. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sf_peer_net {
    uint8_t address[16]; /* IPv4 as ::ffff:a.b.c.d */
    unsigned n_bits;
};

/* INPUT: neither an address nor a network. */
enum sf_err sf_peer_net_parse(const char *text, struct sf_peer_net *out, struct sf_why *why);
/* Is the peer ("10.0.0.7:1234", "[fd00::1]:1234") in it? */
bool sf_peer_net_has(const struct sf_peer_net *net, const char *peer);
