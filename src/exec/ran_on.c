/* ran_on.c - where a span ran: its process and its thread. */
#include "exec/ran_on.h"

#include "base/hash.h"
#include "model/process.h"

uint64_t sf_ran_on_thread(const struct sf_span *s)
{
    struct sf_value id = sf_attrs_get(s->attrs, SF_STR("thread.id"));
    struct sf_value name = sf_attrs_get(s->attrs, SF_STR("thread.name"));
    if (id.type == SF_VALUE_INT && id.i64 > 0)
        return (uint64_t)id.i64;
    /* A sample whose thread has a name only stands under the name's hash. */
    return name.type == SF_VALUE_STR && name.str.len ? sf_hash_str(name.str) : 0;
}

/* Known to the writing side as hash of service and key. A key that is a guess names nobody: the
 * span then stands for its service, as do samples that name none. */
uint64_t *sf_ran_on_processes(const struct sf_resource *resources, uint32_t n, struct sf_arena *tmp,
                              bool *is_guess)
{
    uint64_t *processes = sf_arena_new_n(tmp, n + 1u, sizeof(*processes));
    for (uint32_t i = 0; processes && i < n; i++) {
        const struct sf_resource *r = &resources[i];
        sf_str key;
        bool is_no_key;
        if (!sf_process_key(r->attrs, SF_STR_NONE, SF_STR_NONE, tmp, &key, &is_no_key))
            return NULL;
        processes[i] = sf_process_hash(r->service, is_no_key ? SF_STR_NONE : key);
        *is_guess = *is_guess || is_no_key;
    }
    return processes;
}
