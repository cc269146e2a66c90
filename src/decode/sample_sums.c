#include "decode/sample_sums.h"

#include "base/hash.h"
#include "base/num.h"

struct sum_key {
    const struct sf_sample_sums *sums;
    const struct sf_sample *s;
};

static bool is_same(const struct sf_profile_build *b, uint32_t place, const void *key)
{
    const struct sum_key *k = key;
    uint32_t at = ((const uint32_t *)k->sums->places.items)[place];
    const struct sf_sample *s = (const struct sf_sample *)b->samples.items + at;
    return s->series == k->s->series && s->stack == k->s->stack && s->thread == k->s->thread &&
           s->state == k->s->state && sf_str_eq(s->thread_name, k->s->thread_name);
}

void sf_sample_sums_add(struct sf_sample_sums *t, const struct sf_sample *s)
{
    struct sum_key key = {t, s};
    struct sf_profile_slot *slot;
    struct sf_sample *to;
    uint64_t hash;
    uint32_t place;
    if (s->has_time || s->value <= 0 || s->series == SF_NONE || s->stack == SF_NONE) {
        sf_profile_build_sample(t->b, &t->b->me, s);
        return;
    }
    hash = sf_hash_mix(sf_hash_mix(s->series * 31u + s->state, s->stack), s->thread);
    slot = sf_profile_table_find(t->b, &t->at, hash, is_same, &key);
    if (!slot)
        return;
    if (!slot->place) {
        place = t->b->samples.n;
        sf_profile_build_sample(t->b, &t->b->me, s);
        if (t->b->samples.n > place)
            sf_profile_table_keep(t->b, &t->at, slot, &t->places, &place, sizeof(place));
        return;
    }
    place = ((const uint32_t *)t->places.items)[slot->place - 1];
    to = (struct sf_sample *)t->b->samples.items + place;
    to->value = sf_add_sat_i64(to->value, s->value);
    to->count = to->count > UINT32_MAX - (s->count ? s->count : 1)
                    ? UINT32_MAX
                    : to->count + (s->count ? s->count : 1);
}
