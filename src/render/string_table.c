#include "render/string_table.h"

#include "base/key.h"

enum { FIRST = 256 };

void sf_string_table_init(struct sf_string_table *t, struct sf_arena *req)
{
    *t = (struct sf_string_table){.req = req};
    sf_string_table_put(t, SF_STR(""));
}

static uint32_t slot_of(const struct sf_string_table *t, sf_str s)
{
    uint32_t at = (uint32_t)sf_key_str(s) & (t->n_slots - 1);
    while (t->slots[at] && !sf_str_eq(t->list[t->slots[at] - 1], s))
        at = (at + 1) & (t->n_slots - 1);
    return at;
}

/* Doubled with slots at most half full. What is left behind in the arena is as long as the rest. */
static bool grow(struct sf_string_table *t)
{
    uint32_t cap = t->cap ? t->cap * 2 : FIRST;
    sf_str *list = sf_arena_new_n(t->req, cap, sizeof(*list));
    uint32_t *slots = sf_arena_new_n(t->req, (size_t)cap * 2, sizeof(*slots));
    if (!list || !slots || cap > UINT32_MAX / 4) {
        t->is_full = true;
        return false;
    }
    for (uint32_t i = 0; i < t->n; i++)
        list[i] = t->list[i];
    t->list = list;
    t->slots = slots;
    t->cap = cap;
    t->n_slots = cap * 2;
    for (uint32_t i = 0; i < t->n; i++)
        t->slots[slot_of(t, list[i])] = i + 1;
    return true;
}

uint32_t sf_string_table_put(struct sf_string_table *t, sf_str s)
{
    uint32_t at;
    if (t->is_full || (t->n == t->cap && !grow(t)))
        return 0;
    at = slot_of(t, s);
    if (!t->slots[at]) {
        t->list[t->n] = s;
        t->slots[at] = ++t->n;
    }
    return t->slots[at] - 1;
}

uint32_t sf_string_table_put_numbers(struct sf_string_table *t, const uint64_t *numbers, size_t n)
{
    sf_str key = {(const char *)numbers, n * sizeof(*numbers)}, copy;
    uint32_t before = t->n, place = sf_string_table_put(t, key);
    if (t->n == before)
        return place;
    if (!sf_arena_copy(t->req, key, &copy)) {
        t->is_full = true;
        return 0;
    }
    t->list[place] = copy;
    return place;
}
