#include "decode/pprof/pprof_delta.h"

#include "base/key.h"
#include "base/num.h"

struct sum {
    struct sf_pprof_delta_key key;
    int64_t before, after;
    struct sf_sample sample; /* ids */
};

void sf_pprof_delta_init(struct sf_pprof_delta *d, struct sf_profile_build *b)
{
    *d = (struct sf_pprof_delta){.b = b};
}

static uint32_t *slot_of(const struct sf_pprof_delta *d, const struct sf_pprof_delta_key *k)
{
    const struct sum *sums = d->sums.items;
    uint64_t hash = sf_key_mix(sf_key_u64((uint64_t)k->set << 32 | k->type) + k->stack, k->nums);
    uint32_t at = (uint32_t)hash & (d->n_slots - 1);
    for (; d->slots[at]; at = (at + 1) & (d->n_slots - 1)) {
        const struct sf_pprof_delta_key *o = &sums[d->slots[at] - 1].key;
        if (o->set == k->set && o->stack == k->stack && o->type == k->type && o->nums == k->nums)
            break;
    }
    return &d->slots[at];
}

static bool grow(struct sf_pprof_delta *d)
{
    const struct sum *sums = d->sums.items;
    uint32_t n_slots = d->n_slots ? d->n_slots * 2 : 1024;
    uint32_t *slots = sf_profile_new(d->b, n_slots, sizeof(*slots));
    if (!slots)
        return false;
    d->slots = slots;
    d->n_slots = n_slots;
    for (uint32_t i = 0; i < d->sums.n; i++)
        *slot_of(d, &sums[i].key) = i + 1;
    return true;
}

void sf_pprof_delta_add(struct sf_pprof_delta *d, const struct sf_pprof_delta_key *key,
                        bool is_before, const struct sf_sample *sample)
{
    uint32_t *slot;
    struct sum *sum;
    if (d->b->is_full || (d->sums.n >= d->n_slots / 2 && !grow(d)))
        return;
    slot = slot_of(d, key);
    if (!*slot) {
        sum = sf_profile_list_more(d->b, &d->sums, sizeof(*sum));
        if (!sum)
            return;
        *sum = (struct sum){.key = *key};
        *slot = ++d->sums.n;
    }
    sum = (struct sum *)d->sums.items + (*slot - 1);
    if (is_before) {
        sum->before = sf_add_sat_i64(sum->before, sample->value);
    } else {
        sum->after = sf_add_sat_i64(sum->after, sample->value);
        sum->sample = *sample;
    }
}

void sf_pprof_delta_finish(struct sf_pprof_delta *d, const uint32_t *whats)
{
    struct sum *sums = d->sums.items;
    uint32_t n_shrunk = 0;
    for (uint32_t i = 0; i < d->sums.n; i++)
        n_shrunk += sums[i].after < sums[i].before;
    for (uint32_t i = 0; i < d->sums.n && sf_profile_build_ok(d->b); i++) {
        struct sum *s = &sums[i];
        bool is_new = s->after < s->before || n_shrunk > d->sums.n / 2;
        if (s->after == 0)
            continue; /* gone with the old process */
        s->sample.stack = s->key.stack;
        s->sample.series = sf_profile_build_series(d->b, s->key.set, whats[s->key.type]);
        if (is_new || __builtin_sub_overflow(s->after, s->before, &s->sample.value))
            s->sample.value = s->after;
        s->sample.count = 1;
        sf_profile_build_sample(d->b, &d->b->me, &s->sample);
    }
}
