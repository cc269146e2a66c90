/* caller_key.h - identifies the client of a call, for fair queueing. */
#pragma once
#include "serve/lane.h"

/* A client is a token or a signed-in user; without authentication an address. For IPv6 the address
 * is its 64-bit network, because one machine usually has all of that. */
struct sf_lane_client sf_caller_key(const struct sf_call *call);
