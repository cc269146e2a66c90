/* dwarf_lines.h - finds file and line of addresses: runs a unit's line program once for many
 * addresses. */
#pragma once
#include "symbol/dwarf_line_table.h"

struct sf_dwarf_place {
    uint64_t file; /* file number of the table */
    uint32_t line; /* 0: code that belongs to no line */
    bool is_found;
};

/* Fills the entries of those of the `n` sorted addresses that the program covers. */
void sf_dwarf_lines_find(const struct sf_dwarf_line_table *t, struct sf_dwarf *d,
                         const uint64_t *at, uint32_t n, struct sf_dwarf_place *places);
