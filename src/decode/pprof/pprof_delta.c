#include "decode/pprof/pprof_delta.h"

#include "base/key.h"
#include "base/num.h"

struct sum {
    struct sf_pprof_delta_key key;
    int64_t before, after;
    struct sf_sample sample; /* ids */
};

struct seen {
    const struct sf_pprof_delta *d;
    const struct sf_pprof_delta_key *key;
};

void sf_pprof_delta_init(struct sf_pprof_delta *d, struct sf_profile_build *b)
{
    *d = (struct sf_pprof_delta){.b = b};
}

static bool is_sum(const struct sf_profile_build *b, uint32_t place, const void *arg)
{
    const struct seen *seen = arg;
    const struct sf_pprof_delta_key *k = seen->key,
                                    *o = &((const struct sum *)seen->d->sums.items)[place].key;
    (void)b;
    return o->set == k->set && o->stack == k->stack && o->type == k->type && o->nums == k->nums;
}

void sf_pprof_delta_add(struct sf_pprof_delta *d, const struct sf_pprof_delta_key *key,
                        bool is_before, const struct sf_sample *sample)
{
    uint64_t hash = sf_key_mix(sf_key_u64((uint64_t)key->set << 32 | key->type) + key->stack,
                               key->nums);
    struct seen seen = {d, key};
    struct sum fresh = {.key = *key}, *sum;
    struct sf_profile_spot spot;
    if (d->b->is_full)
        return;
    if (sf_profile_table_is_new(d->b, &d->at, hash, is_sum, &seen, &spot))
        spot.place = sf_profile_table_keep(d->b, &spot, &d->sums, &fresh, sizeof(fresh));
    if (spot.place == SF_NONE)
        return;
    sum = (struct sum *)d->sums.items + spot.place;
    if (is_before) {
        sum->before = sf_add_sat_i64(sum->before, sample->value);
    } else {
        sum->after = sf_add_sat_i64(sum->after, sample->value);
        sum->sample = *sample;
    }
}

/* Totals of one process never decrease, except for times: those are computed from clock ticks,
 * whose rate is measured again and again. */
static bool has_shrunk(const struct sum *s)
{
    return s->after < s->before - s->before / 32;
}

/* Whether the later dump is from a new process. In a scrape, one total that decreased shows it. An
 * upload may contain several processes, so most totals must have decreased. */
static bool is_restart(const struct sf_pprof_delta *d)
{
    const struct sum *sums = d->sums.items;
    uint32_t n_shrunk = 0;
    for (uint32_t i = 0; i < d->sums.n; i++)
        n_shrunk += d->b->hint->is_scrape ? has_shrunk(&sums[i]) : sums[i].after < sums[i].before;
    return n_shrunk > (d->b->hint->is_scrape ? 0 : d->sums.n / 2);
}

void sf_pprof_delta_finish(struct sf_pprof_delta *d, const uint32_t *whats)
{
    struct sum *sums = d->sums.items;
    bool is_scrape = d->b->hint->is_scrape, has_restarted = is_restart(d);
    for (uint32_t i = 0; i < d->sums.n && sf_profile_build_ok(d->b); i++) {
        struct sum *s = &sums[i];
        bool is_new = has_restarted || (!is_scrape && s->after < s->before);
        if (s->after == 0 || (is_scrape && !is_new && s->after <= s->before))
            continue; /* not in the new process, or unchanged */
        s->sample.stack = s->key.stack;
        s->sample.series = sf_profile_build_series(d->b, s->key.set, whats[s->key.type]);
        if (is_new || __builtin_sub_overflow(s->after, s->before, &s->sample.value))
            s->sample.value = s->after;
        s->sample.count = 1;
        sf_profile_build_sample(d->b, &d->b->me, &s->sample);
    }
}
