/* name_list.c - distinct names of services and spans. */
#include "join/name_list.h"

#include "base/list.h"

void sf_name_list_init(struct sf_name_list *l, struct sf_arena *req)
{
    *l = (struct sf_name_list){.req = req, .at = {.arena = req}};
}

bool sf_name_list_place(struct sf_name_list *l, sf_str name, uint32_t most, uint32_t *out)
{
    if (!sf_table_more(&l->at) || !sf_list_room_in(l->req, &l->names, l->n, &l->cap, 16))
        return false;
    struct sf_table_lookup lookup = sf_table_lookup(&l->at, sf_key_str(name));
    while (sf_table_next(&lookup, out))
        if (sf_str_eq(l->names[*out], name))
            return true;
    *out = UINT32_MAX;
    if (l->n >= most)
        return true;
    if (!sf_arena_copy(l->req, name, &l->names[l->n]))
        return false;
    sf_table_keep(&l->at, &lookup, l->n);
    *out = l->n++;
    return true;
}

bool sf_name_list_add(struct sf_name_list *l, sf_str name, uint32_t most, sf_str *out)
{
    uint32_t place;
    if (!sf_name_list_place(l, name, most, &place))
        return false;
    *out = place == UINT32_MAX ? SF_STR_NONE : l->names[place];
    return true;
}
