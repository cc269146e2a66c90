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

struct parts {
    sf_str instance, machine, pod;
    struct sf_value pid;
};

static struct parts parts_of(struct sf_attrs resource)
{
    return (struct parts){
        .instance = sf_attrs_str(resource, SF_STR("service.instance.id")),
        .machine = first_of(resource,
                            (const char *const[]){"container.id", "host.id", "host.name", NULL}),
        .pod = first_of(resource, (const char *const[]){"k8s.pod.uid", "k8s.pod.name", NULL}),
        .pid = sf_attrs_get(resource, SF_STR("process.pid"))};
}

static bool print_instance(const struct parts *p, struct sf_arena *req, sf_str *out)
{
    return sf_arena_print(req, out, "instance=%.*s", SF_STR_ARG(p->instance));
}

static bool print_machine(const struct parts *p, struct sf_arena *req, sf_str *out)
{
    return sf_arena_print(req, out, "machine=%.*s;pid=%" PRId64, SF_STR_ARG(p->machine),
                          p->pid.i64);
}

bool sf_process_key(struct sf_attrs resource, sf_str session_id, sf_str peer, struct sf_arena *req,
                    sf_str *out_key, bool *out_is_guess)
{
    struct parts p = parts_of(resource);
    *out_is_guess = false;
    if (p.instance.len)
        return print_instance(&p, req, out_key);
    if (p.pid.type == SF_VALUE_INT && p.machine.len)
        return print_machine(&p, req, out_key);
    if (p.pod.len)
        return sf_arena_print(req, out_key, "pod=%.*s", SF_STR_ARG(p.pod));
    if (p.pid.type == SF_VALUE_INT)
        return sf_arena_print(req, out_key, "peer=%.*s;pid=%" PRId64, SF_STR_ARG(peer), p.pid.i64);
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

enum sf_process_kind sf_process_kind_of(sf_str key, bool is_guess)
{
    if (is_guess)
        return SF_PROCESS_GUESS;
    if (sf_str_starts(key, SF_STR("instance=")))
        return SF_PROCESS_INSTANCE;
    if (sf_str_starts(key, SF_STR("machine=")))
        return SF_PROCESS_MACHINE_PID;
    if (sf_str_starts(key, SF_STR("pod=")))
        return SF_PROCESS_POD;
    if (sf_str_starts(key, SF_STR("peer=")))
        return SF_PROCESS_PEER_PID;
    return sf_str_starts(key, SF_STR("session=")) ? SF_PROCESS_SESSION : SF_PROCESS_GUESS;
}

/* A sender's address may differ between the two signals, so address and pid together do not
 * identify a process here. */
bool sf_process_names_of(sf_str service, struct sf_attrs resource, struct sf_arena *tmp,
                         struct sf_process_names *out)
{
    struct parts p = parts_of(resource);
    static const char *const pods[] = {"k8s.pod.uid", "k8s.pod.name"};
    sf_str key = SF_STR_NONE;
    *out = (struct sf_process_names){0};
    if (p.instance.len) {
        if (!print_instance(&p, tmp, &key))
            return false;
        out->hashes[SF_PROCESS_INSTANCE] = sf_process_hash(service, key);
    }
    if (p.pid.type == SF_VALUE_INT && p.machine.len) {
        if (!print_machine(&p, tmp, &key))
            return false;
        out->hashes[SF_PROCESS_MACHINE_PID] = sf_process_hash(service, key);
    }
    /* Labels of profiles contain a pod's name, rarely its uid. */
    for (int i = 0; i < 2; i++) {
        sf_str pod = sf_attrs_str(resource, sf_str_from(pods[i]));
        if (pod.len == 0)
            continue;
        if (!sf_arena_print(tmp, &key, "pod=%.*s", SF_STR_ARG(pod)))
            return false;
        out->hashes[SF_PROCESS_POD] = sf_process_hash(service, key);
    }
    return true;
}
