/* process.h - the instance a span and a sample share.
 *
 * As far as given: service.instance.id, else container.id or host.id with process.pid, else pod,
 * else a client's session id, else the sender's address (then `is_guess`, and joins fall to the
 * service; keys of profiles then tell the labels of their uploads apart, too). Both signals derive
 * the key here, so that the two always agree. One side may know more names of an instance than the
 * other: a span's resource gives all of its names. */
#pragma once
#include "base/arena.h"
#include "model/span.h"

enum sf_process_kind { /* which name a key is made of */
                       SF_PROCESS_GUESS,
                       SF_PROCESS_SESSION,
                       SF_PROCESS_PEER_PID,
                       SF_PROCESS_POD,
                       SF_PROCESS_MACHINE_PID,
                       SF_PROCESS_INSTANCE,
                       SF_PROCESS_KINDS
};

/* The key in words ("instance=..." / "container=...;pid=7"), in `req`. False: no memory. */
bool sf_process_key(struct sf_attrs resource, sf_str session_id, sf_str peer, struct sf_arena *req,
                    sf_str *out_key, bool *out_is_guess);
/* What queries and detail rows carry: hash of (service, key); never 0. */
uint64_t sf_process_hash(sf_str service, sf_str key);

/* Of a key; `is_guess` as it came with the key. */
enum sf_process_kind sf_process_kind_of(sf_str key, bool is_guess);

struct sf_process_names { /* all that a resource says, by kind; 0: not given */
    uint64_t hashes[SF_PROCESS_KINDS];
};
/* False: no memory. */
bool sf_process_names_of(sf_str service, struct sf_attrs resource, struct sf_arena *tmp,
                         struct sf_process_names *out);
