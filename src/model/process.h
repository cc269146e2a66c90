/* process.h - the instance a span and a sample share.
 *
 * As far as given: service.instance.id, else container.id or host.id with process.pid, else pod,
 * else a client's session id, else the sender's address (then `is_guess`, and joins fall to the
 * service). Both signals derive the key here, so that the two always agree. */
#pragma once
#include "base/arena.h"
#include "model/span.h"

/* The key in words ("instance=..." / "container=...;pid=7"), in `req`. False: no memory. */
bool sf_process_key(struct sf_attrs resource, sf_str session_id, sf_str peer, struct sf_arena *req,
                    sf_str *out_key, bool *out_is_guess);
/* What queries and detail rows carry: hash of (service, key); never 0. */
uint64_t sf_process_hash(sf_str service, sf_str key);
