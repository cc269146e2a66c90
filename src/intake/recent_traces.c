#include "intake/recent_traces.h"

#include <stdatomic.h>

#include "base/heap.h"
#include "base/key.h"

enum { N_SLOTS = 1 << 16 }; /* 512 KiB: a few minutes of failures on a busy server */

struct sf_recent_traces {
    struct sf_recent_rule rule;
    atomic_uint_fast64_t slots[N_SLOTS];
};

struct sf_recent_traces *sf_recent_traces_new(struct sf_recent_rule rule)
{
    struct sf_recent_traces *r = sf_heap_new(sizeof(*r));
    if (r)
        r->rule = rule;
    return r;
}

void sf_recent_traces_free(struct sf_recent_traces *r)
{
    sf_heap_free(r);
}

static uint64_t recent_traces_hash_of(sf_str tenant, const void *id, size_t len)
{
    return sf_key_mix(sf_key_str(tenant), sf_key(id, len));
}

static void recent_traces_put(struct sf_recent_traces *r, uint64_t hash)
{
    atomic_store_explicit(&r->slots[hash % N_SLOTS], hash, memory_order_relaxed);
}

static bool recent_traces_has(struct sf_recent_traces *r, uint64_t hash)
{
    return atomic_load_explicit(&r->slots[hash % N_SLOTS], memory_order_relaxed) == hash;
}

void sf_recent_traces_note(struct sf_recent_traces *r, sf_str tenant,
                           const struct sf_span_batch *spans)
{
    for (uint32_t i = 0; i < spans->n_spans; i++) {
        const struct sf_span *s = &spans->spans[i];
        bool is_slow = r->rule.slow_ns > 0 && sf_span_duration_ns(s) >= (uint64_t)r->rule.slow_ns;
        if (!is_slow && !(r->rule.has_errors && s->status == SF_STATUS_ERROR))
            continue;
        recent_traces_put(r, recent_traces_hash_of(tenant, &s->trace_id, sizeof(s->trace_id)));
        recent_traces_put(r, recent_traces_hash_of(tenant, &s->span_id, sizeof(s->span_id)));
    }
}

bool sf_recent_traces_has(struct sf_recent_traces *r, sf_str tenant, const struct sf_sample *s)
{
    if (!sf_trace_id_is_zero(s->trace_id))
        return recent_traces_has(r,
                                 recent_traces_hash_of(tenant, &s->trace_id, sizeof(s->trace_id)));
    return s->span_id &&
           recent_traces_has(r, recent_traces_hash_of(tenant, &s->span_id, sizeof(s->span_id)));
}
