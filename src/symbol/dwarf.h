/* dwarf.h - the debug information of one file: its sections, and the remaining work limit.
 *
 * It is parsed without libdw, because the profiling library runs inside other programs and must not
 * add dependencies to them. The file is not trusted: every read is checked against its section,
 * every table has a limit, and work is counted: a file constructed to cost time or memory gives no
 * lines, only the names of its symbol table. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum {
    /* Limit for entries, attributes, rows and ranges examined for one profile in one file, about 10
     * ns each: so many per byte of the file, and a maximum. A normal file is read completely with
     * less than one per two bytes; one constructed to be read repeatedly is given up. */
    SF_DWARF_WORK_PER_BYTE = 4,
    SF_DWARF_WORK_MAX = 1 << 27,
};

struct sf_dwarf_unit;
struct sf_dwarf_units;

struct sf_dwarf { /* missing sections are empty */
    sf_bytes info, abbrev, line, str, line_str, str_offsets, addr, ranges, rnglists;
    uint64_t work_left;
    /* Debug information that dwz moved into a file shared by several programs, with its own work
     * limit; NULL: missing. A shared file refers to no other one. */
    struct sf_dwarf *shared;
    struct sf_dwarf_units *shared_units;
    /* For a part of a .dwp file: the unit's other part, in the program; NULL: not split. */
    const struct sf_dwarf_unit *skeleton;
};

/* False: the limit is reached. */
static inline bool sf_dwarf_spend(struct sf_dwarf *d)
{
    if (!d->work_left)
        return false;
    d->work_left--;
    return true;
}
