/* dwarf_units.h - all units of a file: where they are, which of them has an address, and those in
 * use with their shapes. */
#pragma once
#include "base/buf.h"
#include "symbol/dwarf_abbrevs.h"
#include "symbol/dwarf_unit.h"

enum { SF_DWARF_UNITS_LOADED = 8, SF_DWARF_NO_UNIT = UINT32_MAX };

struct sf_dwarf_loaded {
    struct sf_dwarf_unit unit;
    struct sf_dwarf_abbrevs abbrevs;
    uint64_t used; /* when, for the oldest to go; 0: empty */
};

struct sf_dwarf_units { /* a zeroed one is empty */
    struct sf_buf offs; /* uint64_t, rising */
    struct sf_dwarf_loaded loaded[SF_DWARF_UNITS_LOADED];
    struct sf_dwarf_abbrevs scratch;
    uint64_t clock;
};

/* Looks at the first entry of every unit, and no further: `owner[i]` becomes the number of the unit
 * that has the i-th of `n` sorted addresses, or SF_DWARF_NO_UNIT. A file that turns out damaged has
 * the units before that. */
void sf_dwarf_units_scan(struct sf_dwarf_units *u, struct sf_dwarf *d, const uint64_t *at,
                         uint32_t n, uint32_t *owner);
/* Between one unit and the next: nothing of a unit is kept, so what was read may be forgotten. */
void sf_dwarf_units_forget(struct sf_dwarf_units *u);
void sf_dwarf_units_done(struct sf_dwarf_units *u);
/* The unit with that number, or that holds an entry. NULL: none, or damaged. Lives until the next
 * load. */
const struct sf_dwarf_loaded *sf_dwarf_units_load(struct sf_dwarf_units *u, struct sf_dwarf *d,
                                                  uint32_t number);
const struct sf_dwarf_loaded *sf_dwarf_units_load_of(struct sf_dwarf_units *u, struct sf_dwarf *d,
                                                     uint64_t entry_off);
