/* Lists and tables in a batch's arena. What grows leaves its old selves behind there, so decoders
 * that know how much is coming say so first. */
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

sf_str sf_profile_copy(struct sf_profile_build *b, sf_str s)
{
    sf_str out = SF_STR_NONE;
    if (!sf_arena_copy(b->a, s, &out))
        b->is_full = true;
    return out;
}

static bool resize(struct sf_profile_build *b, struct sf_profile_table *t, uint32_t cap)
{
    struct sf_profile_slot *slots = cap > UINT32_MAX / 2 ? NULL
                                                         : sf_profile_new(b, cap, sizeof(*slots));
    if (!slots) {
        b->is_full = true;
        return false;
    }
    for (uint32_t i = 0; i < t->cap; i++) {
        struct sf_profile_slot old = t->slots[i];
        uint32_t at = old.hash & (cap - 1);
        if (!old.place)
            continue;
        while (slots[at].place)
            at = (at + 1) & (cap - 1);
        slots[at] = old;
    }
    t->slots = slots;
    t->cap = cap;
    return true;
}

bool sf_profile_table_grow(struct sf_profile_build *b, struct sf_profile_table *t)
{
    return resize(b, t, t->cap ? t->cap * 2 : 128);
}

struct sf_profile_slot *sf_profile_table_find(struct sf_profile_build *b,
                                              struct sf_profile_table *t, uint64_t wide,
                                              sf_profile_is_same is_same, const void *key)
{
    uint32_t hash = (uint32_t)(wide ^ wide >> 32), at;
    if (t->n >= t->cap / 2 && !sf_profile_table_grow(b, t))
        return NULL;
    for (at = hash & (t->cap - 1); t->slots[at].place; at = (at + 1) & (t->cap - 1)) {
        if (t->slots[at].hash == hash && is_same(b, t->slots[at].place - 1, key))
            return &t->slots[at];
    }
    t->slots[at].hash = hash;
    return &t->slots[at];
}

uint32_t sf_profile_table_keep(struct sf_profile_build *b, struct sf_profile_table *t,
                               struct sf_profile_slot *slot, struct sf_profile_list *l,
                               const void *item, size_t size)
{
    void *to = sf_profile_list_more(b, l, size);
    if (!to)
        return SF_NONE;
    memcpy(to, item, size);
    t->n++;
    slot->place = ++l->n;
    return l->n - 1;
}

void sf_profile_build_expect(struct sf_profile_build *b, uint64_t n)
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

/* What a body says it holds is true as far as it goes, but may all be the same thing. */
enum { EXPECT_MAX = 1 << 15 };

static void expect(struct sf_profile_build *b, struct sf_profile_table *t,
                   struct sf_profile_list *l, size_t size, uint32_t n)
{
    uint32_t cap = 128;
    if (n > EXPECT_MAX)
        n = EXPECT_MAX;
    while (cap / 2 <= n)
        cap *= 2;
    if (b->is_full || t->cap || l->cap || (b->a->cap - b->a->at) / 4 < (size_t)cap * 64)
        return;
    if (resize(b, t, cap) && n)
        profile_list_grow(b, l, size, n);
}

void sf_profile_build_expect_symbols(struct sf_profile_build *b, uint32_t n_functions,
                                     uint32_t n_locations, uint32_t n_stacks)
{
    expect(b, &b->function_at, &b->functions, sizeof(struct sf_function), n_functions);
    expect(b, &b->location_at, &b->locations, sizeof(struct sf_location), n_locations);
    expect(b, &b->stack_at, &b->stacks, sizeof(struct sf_stack), n_stacks);
}
