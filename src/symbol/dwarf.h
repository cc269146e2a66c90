/* dwarf.h - the debug information of one file: its sections, and how much work may still be spent
 * on them.
 *
 * Read by hand: the library lives inside programs that it observes, and libdw, with what it links,
 * may not come with it. Nothing here trusts the file. Every read is held against its section, every
 * table has a bound, and work is counted: a file made to cost time or memory gets no lines and
 * keeps the names of its symbol table. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum {
    /* Entries, attributes, rows and ranges examined for one profile in one file, some 10 ns each:
     * as many for each byte of it, and never more than. A compiler's file is read whole with fewer
     * than one for two bytes; one made to be read over and over is given up. */
    SF_DWARF_WORK_PER_BYTE = 4,
    SF_DWARF_WORK_MAX = 1 << 27,
};

struct sf_dwarf_unit;
struct sf_dwarf_units;

struct sf_dwarf { /* sections that are not there are empty */
    sf_bytes info, abbrev, line, str, line_str, str_offsets, addr, ranges, rnglists;
    uint64_t work_left;
    /* Debug information that dwz moved into a file shared by several programs, with a work bound of
     * its own; NULL: not here. A shared file refers to no other one. */
    struct sf_dwarf *shared;
    struct sf_dwarf_units *shared_units;
    /* Of a part of a .dwp file: the unit's other half, in the program; NULL: it is whole. */
    const struct sf_dwarf_unit *skeleton;
};

/* False: all was spent. */
static inline bool sf_dwarf_spend(struct sf_dwarf *d)
{
    if (!d->work_left)
        return false;
    d->work_left--;
    return true;
}
