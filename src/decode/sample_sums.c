#include "decode/sample_sums.h"

#include "base/key.h"
#include "base/num.h"

struct sum_key {
    const struct sf_sample_sums *sums;
    const struct sf_sample *s;
};

static bool sample_sums_is_same(const struct sf_profile_build *b, uint32_t place, const void *key)
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
    struct sf_profile_spot spot;
    struct sf_sample *to;
    uint64_t hash;
    uint32_t place;
    if (s->has_time || s->value <= 0 || s->series == SF_NONE || s->stack == SF_NONE) {
        sf_profile_build_sample(t->b, &t->b->me, s);
        return;
    }
    hash = sf_key_mix(sf_key_u64((uint64_t)s->series << 32 | s->stack), s->thread);
    hash = sf_key_mix(hash, s->state);
    if (s->thread_name.len)
        hash = sf_key_mix(hash, sf_key_str(s->thread_name));
    if (sf_profile_table_is_new(t->b, &t->at, hash, sample_sums_is_same, &key, &spot)) {
        place = t->b->samples.n;
        sf_profile_build_sample(t->b, &t->b->me, s);
        if (t->b->samples.n > place)
            sf_profile_table_keep(t->b, &spot, &t->places, &place, sizeof(place));
        return;
    }
    if (spot.place == SF_NONE)
        return;
    place = ((const uint32_t *)t->places.items)[spot.place];
    to = (struct sf_sample *)t->b->samples.items + place;
    to->value = sf_add_sat_i64(to->value, s->value);
    to->count = to->count > UINT32_MAX - (s->count ? s->count : 1)
                    ? UINT32_MAX
                    : to->count + (s->count ? s->count : 1);
}
