/* name_list.h - distinct names of services and spans. */
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
/* The index of the name, which is copied if it is new. At most `most` names are stored: further
 * ones get UINT32_MAX. False: the arena is full. */
bool sf_name_list_place(struct sf_name_list *l, sf_str name, uint32_t most, uint32_t *out);
/* The stored name; empty if there are too many. */
bool sf_name_list_add(struct sf_name_list *l, sf_str name, uint32_t most, sf_str *out);
