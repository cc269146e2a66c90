#include "model/process.h"

#include <inttypes.h>

#include "base/hash.h"

static sf_str first_of(struct sf_attrs attrs, const char *const *keys)
{
    for (; *keys; keys++) {
        sf_str val = sf_attrs_str(attrs, sf_str_from(*keys));
        if (val.len)
            return val;
    }
    return SF_STR_NONE;
}

bool sf_process_key(struct sf_attrs resource, sf_str session_id, sf_str peer, struct sf_arena *req,
                    sf_str *out_key, bool *out_is_guess)
{
    sf_str instance = sf_attrs_str(resource, SF_STR("service.instance.id"));
    sf_str machine = first_of(resource,
                              (const char *const[]){"container.id", "host.id", "host.name", NULL});
    sf_str pod = first_of(resource, (const char *const[]){"k8s.pod.uid", "k8s.pod.name", NULL});
    struct sf_value pid = sf_attrs_get(resource, SF_STR("process.pid"));

    *out_is_guess = false;
    if (instance.len)
        return sf_arena_print(req, out_key, "instance=%.*s", SF_STR_ARG(instance));
    if (pid.type == SF_VALUE_INT && machine.len)
        return sf_arena_print(req, out_key, "machine=%.*s;pid=%" PRId64, SF_STR_ARG(machine),
                              pid.i64);
    if (pod.len)
        return sf_arena_print(req, out_key, "pod=%.*s", SF_STR_ARG(pod));
    if (pid.type == SF_VALUE_INT)
        return sf_arena_print(req, out_key, "peer=%.*s;pid=%" PRId64, SF_STR_ARG(peer), pid.i64);
    if (session_id.len)
        return sf_arena_print(req, out_key, "session=%.*s", SF_STR_ARG(session_id));
    *out_is_guess = true;
    return sf_arena_print(req, out_key, "peer=%.*s", SF_STR_ARG(peer));
}

uint64_t sf_process_hash(sf_str service, sf_str key)
{
    uint64_t hash = sf_hash_mix(sf_hash_str(service), sf_hash_str(key));
    return hash ? hash : 1;
}
