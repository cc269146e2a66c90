/* dwarf_lines.h - which line of which file stands at an address: runs a unit's line program once
 * for many addresses. */
#pragma once
#include "symbol/dwarf_line_table.h"

struct sf_dwarf_place {
    uint64_t file; /* as the table counts */
    uint32_t line; /* 0: code that no line is to be blamed for */
    bool is_found;
};

/* Fills the places of those of the `n` sorted addresses that the program speaks of. */
void sf_dwarf_lines_find(const struct sf_dwarf_line_table *t, struct sf_dwarf *d,
                         const uint64_t *at, uint32_t n, struct sf_dwarf_place *places);
