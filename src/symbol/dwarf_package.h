/* dwarf_package.h - a .dwp file: the debug information that -gsplit-dwarf separates from a program,
 * that is, the .dwo files of all its units in one, with an index by the id that both parts of a
 * unit have. */
#pragma once
#include "symbol/dwarf.h"

struct sf_dwarf_unit;

struct sf_dwarf_package {
    struct sf_dwarf all; /* complete sections of the file */
    sf_bytes index;      /* .debug_cu_index */
};

/* The parts of all sections that belong to the unit whose part in the program `d` is `skeleton`, as
 * separate debug information. False: it has none, or the index is damaged. It uses the program's
 * work limit, which sf_dwarf_package_leave returns to it. */
bool sf_dwarf_package_enter(const struct sf_dwarf_package *p, struct sf_dwarf *d,
                            const struct sf_dwarf_unit *skeleton, struct sf_dwarf *out);
void sf_dwarf_package_leave(struct sf_dwarf *d, const struct sf_dwarf *part);
