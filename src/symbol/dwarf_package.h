/* dwarf_package.h - a .dwp file: what -gsplit-dwarf left out of a program, the .dwo files of all
 * its units in one, with an index by the id that both halves of a unit have. */
#pragma once
#include "symbol/dwarf.h"

struct sf_dwarf_unit;

struct sf_dwarf_package {
    struct sf_dwarf all; /* the whole sections of the file */
    sf_bytes index;      /* .debug_cu_index */
};

/* The parts of all sections that belong to the unit whose first half is `skeleton`, of the program
 * `d`, as debug information of its own. False: it has none, or the index is damaged. The work that
 * is left is the program's, and goes back to it by sf_dwarf_package_leave. */
bool sf_dwarf_package_enter(const struct sf_dwarf_package *p, struct sf_dwarf *d,
                            const struct sf_dwarf_unit *skeleton, struct sf_dwarf *out);
void sf_dwarf_package_leave(struct sf_dwarf *d, const struct sf_dwarf *part);
