/* ran_on.c - the process in which a span ran. */
#include "exec/ran_on.h"

#include "model/process.h"

/* Identified as when profiles are stored, by the hash of service and key. A guessed key identifies
 * no process: the span then counts for its service, as do samples without a process. */
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
