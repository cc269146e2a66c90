/* name_list.h - names of services and spans, each kept once. */
#pragma once
#include "base/arena.h"
#include "base/table.h"

struct sf_name_list {
    struct sf_arena *req;
    sf_str *names;
    uint32_t n, cap;
    struct sf_table at;
};

void sf_name_list_init(struct sf_name_list *l, struct sf_arena *req);
/* The name's place, copied when it is new. There are at most `most` of them: further ones are at
 * UINT32_MAX. False: the arena is full. */
bool sf_name_list_place(struct sf_name_list *l, sf_str name, uint32_t most, uint32_t *out);
/* The name as it is kept; further ones are empty. */
bool sf_name_list_add(struct sf_name_list *l, sf_str name, uint32_t most, sf_str *out);
