/* Lists and tables in a batch's arena. Growing leaves the old copies behind in the arena, so
 * decoders that know the final size reserve it first. */
#include "base/limits.h"
#include "decode/profile_build.h"

static bool profile_list_grow(struct sf_profile_build *b, struct sf_profile_list *l, size_t size,
                              uint32_t cap)
{
    void *items = cap > UINT32_MAX / 2 ? NULL
                                       : sf_arena_grow(b->a, l->items, l->cap * size, cap * size);
    if (!items) {
        b->is_full = true;
        return false;
    }
    l->items = items;
    l->cap = cap;
    return true;
}

bool sf_profile_table_room(struct sf_profile_build *b, struct sf_profile_list *l, size_t size,
                           uint32_t more)
{
    uint32_t cap = l->cap ? l->cap : 64;
    while (cap - l->n < more)
        cap *= 2;
    return cap == l->cap || profile_list_grow(b, l, size, cap);
}

sf_str sf_profile_table_copy(struct sf_profile_build *b, sf_str s)
{
    sf_str out = SF_STR_NONE;
    if (!sf_arena_copy(b->a, s, &out))
        b->is_full = true;
    return out;
}

bool sf_profile_table_more(struct sf_profile_build *b, struct sf_table *t)
{
    t->arena = b->a;
    if (sf_table_more(t))
        return true;
    b->is_full = true;
    return false;
}

bool sf_profile_table_is_new(struct sf_profile_build *b, struct sf_table *t, uint64_t hash,
                             sf_profile_is_same is_same, const void *key,
                             struct sf_profile_spot *spot)
{
    uint32_t place;
    spot->t = t;
    spot->place = SF_NONE;
    if (!sf_profile_table_more(b, t))
        return false;
    spot->lookup = sf_table_lookup(t, hash);
    while (sf_table_next(&spot->lookup, &place)) {
        if (is_same(b, place, key)) {
            spot->place = place;
            return false;
        }
    }
    return true;
}

uint32_t sf_profile_table_keep(struct sf_profile_build *b, const struct sf_profile_spot *spot,
                               struct sf_profile_list *l, const void *item, size_t size)
{
    void *to = sf_profile_list_more(b, l, size);
    if (!to)
        return SF_NONE;
    memcpy(to, item, size);
    sf_table_keep(spot->t, &spot->lookup, l->n);
    return l->n++;
}

void sf_profile_table_expect(struct sf_profile_build *b, uint64_t n)
{
    struct sf_profile_list *l = &b->samples;
    uint64_t cap = l->n + n;
    void *items;
    if (cap > SF_LIMIT_SAMPLES)
        cap = SF_LIMIT_SAMPLES;
    if (cap <= l->cap || cap * sizeof(struct sf_sample) > (b->a->cap - b->a->at) / 2)
        return;
    items = sf_arena_grow(b->a, l->items, l->cap * sizeof(struct sf_sample),
                          cap * sizeof(struct sf_sample));
    if (!items)
        return;
    l->items = items;
    l->cap = (uint32_t)cap;
}

/* The declared counts are plausible, but all items may be equal: reserve at most this many. */
enum { EXPECT_MAX = 1 << 15 };

static void profile_table_expect(struct sf_profile_build *b, struct sf_table *t,
                                 struct sf_profile_list *l, size_t size, uint32_t n)
{
    if (n > EXPECT_MAX)
        n = EXPECT_MAX;
    if (b->is_full || t->n_slots || l->cap || (b->a->cap - b->a->at) / 4 < ((size_t)n + 64) * 128)
        return;
    t->arena = b->a;
    if (!sf_table_reset(t, n))
        b->is_full = true;
    else if (n)
        profile_list_grow(b, l, size, n);
}

void sf_profile_table_expect_symbols(struct sf_profile_build *b, uint32_t n_functions,
                                     uint32_t n_locations, uint32_t n_stacks)
{
    profile_table_expect(b, &b->function_at, &b->functions, sizeof(struct sf_function),
                         n_functions);
    profile_table_expect(b, &b->location_at, &b->locations, sizeof(struct sf_location),
                         n_locations);
    profile_table_expect(b, &b->stack_at, &b->stacks, sizeof(struct sf_stack), n_stacks);
}
