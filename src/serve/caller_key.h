/* caller_key.h - whose call it is, for fair shares. */
#pragma once
#include "serve/lane.h"

/* A client is a token or a signed-in person, and where neither is queried for an address: the
 * network of 64 bits for IPv6, of which one machine has all. */
struct sf_lane_client sf_caller_key(const struct sf_call *call);
