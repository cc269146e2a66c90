/* string_table.h - numbers distinct strings: for the tables of pprof and OTLP. */
#pragma once
#include "base/arena.h"
#include "base/table.h"

struct sf_string_table {
    struct sf_arena *req; /* memory of the table */
    sf_str *list;         /* borrowed strings, in the order of first use */
    uint32_t n, cap;
    struct sf_table at;
    bool is_full; /* the arena is full; stays set */
};

/* Number 0 is the empty string. */
void sf_string_table_init(struct sf_string_table *t, struct sf_arena *req);
uint32_t sf_string_table_put(struct sf_string_table *t, sf_str s);
/* Several numbers as one key, such as (name, file) of a function. Copied. */
uint32_t sf_string_table_put_numbers(struct sf_string_table *t, const uint64_t *numbers, size_t n);
