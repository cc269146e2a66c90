/* process.h - identifies the process instance, so that spans and samples of it can be joined.
 *
 * The key is service.instance.id, else container.id or host.id with process.pid, else pod, else a
 * client's session id, else the sender's address (then `is_guess`: samples are joined by service
 * only, and keys of profiles also contain a hash of the upload's labels). Both signals compute the
 * key here, so that they agree. One side may have more identifiers of an instance than the other,
 * so all identifiers in a span's resource are available. */
#pragma once
#include "base/arena.h"
#include "model/span.h"

enum sf_process_kind { /* the identifier that a key is made of */
                       SF_PROCESS_GUESS,
                       SF_PROCESS_SESSION,
                       SF_PROCESS_PEER_PID,
                       SF_PROCESS_POD,
                       SF_PROCESS_MACHINE_PID,
                       SF_PROCESS_INSTANCE,
                       SF_PROCESS_KINDS
};

/* The key as text ("instance=..." or "container=...;pid=7"), in `req`. False: no memory. */
bool sf_process_key(struct sf_attrs resource, sf_str session_id, sf_str peer, struct sf_arena *req,
                    sf_str *out_key, bool *out_is_guess);
/* Used in queries and detail rows: hash of (service, key); never 0. */
uint64_t sf_process_hash(sf_str service, sf_str key);

/* The kind of a key; `is_guess` is the value returned with the key. */
enum sf_process_kind sf_process_kind_of(sf_str key, bool is_guess);

struct sf_process_names { /* all identifiers in a resource, by kind; 0: not given */
    uint64_t hashes[SF_PROCESS_KINDS];
};
/* False: no memory. */
bool sf_process_names_of(sf_str service, struct sf_attrs resource, struct sf_arena *tmp,
                         struct sf_process_names *out);
