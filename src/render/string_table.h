/* string_table.h - each distinct string once, by number: the tables of pprof and OTLP. */
#pragma once
#include "base/arena.h"
#include "base/table.h"

struct sf_string_table {
    struct sf_arena *req; /* the table's own memory */
    sf_str *list;         /* borrowed strings, in the order they came */
    uint32_t n, cap;
    struct sf_table at;
    bool is_full; /* the arena ran out; sticks */
};

/* Place 0 is the empty string. */
void sf_string_table_init(struct sf_string_table *t, struct sf_arena *req);
uint32_t sf_string_table_put(struct sf_string_table *t, sf_str s);
/* Several numbers as one key: (name, file) of a function. Copied. */
uint32_t sf_string_table_put_numbers(struct sf_string_table *t, const uint64_t *numbers, size_t n);
