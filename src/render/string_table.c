#include "render/string_table.h"

#include "base/list.h"

enum { FIRST = 256 };

void sf_string_table_init(struct sf_string_table *t, struct sf_arena *req)
{
    *t = (struct sf_string_table){.req = req, .at = {.arena = req}};
    sf_string_table_put(t, SF_STR(""));
}

uint32_t sf_string_table_put(struct sf_string_table *t, sf_str s)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!t->is_full &&
        (!sf_table_more(&t->at) ||
         !sf_list_room_in_max(t->req, &t->list, t->n, &t->cap, FIRST, UINT32_MAX / 4)))
        t->is_full = true;
    if (t->is_full)
        return 0;
    lookup = sf_table_lookup(&t->at, sf_key_str(s));
    while (sf_table_next(&lookup, &at)) {
        if (sf_str_eq(t->list[at], s))
            return at;
    }
    sf_table_keep(&t->at, &lookup, t->n);
    t->list[t->n] = s;
    return t->n++;
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
