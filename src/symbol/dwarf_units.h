/* dwarf_units.h - all units of a file: their offsets, which of them contains an address, and a
 * cache of loaded ones with their abbreviations. */
#pragma once
#include "base/buf.h"
#include "symbol/dwarf_abbrevs.h"
#include "symbol/dwarf_unit.h"

enum { SF_DWARF_UNITS_LOADED = 8, SF_DWARF_NO_UNIT = UINT32_MAX };

struct sf_dwarf_loaded {
    struct sf_dwarf_unit unit;
    struct sf_dwarf_abbrevs abbrevs;
    uint64_t used; /* counter of the last use, for eviction; 0: empty */
};

struct sf_dwarf_units { /* a zeroed one is empty */
    struct sf_buf offs; /* uint64_t, increasing */
    struct sf_dwarf_loaded loaded[SF_DWARF_UNITS_LOADED];
    struct sf_dwarf_abbrevs scratch;
    uint64_t clock;
};

/* Reads only the first entry of every unit: `owner[i]` becomes the number of the unit that contains
 * the i-th of `n` sorted addresses, or SF_DWARF_NO_UNIT. In a damaged file, the units before the
 * damage are found. */
void sf_dwarf_units_scan(struct sf_dwarf_units *u, struct sf_dwarf *d, const uint64_t *at,
                         uint32_t n, uint32_t *owner);
/* To be called between two units: no data of a unit is kept, so that pages read may be dropped. */
void sf_dwarf_units_forget(struct sf_dwarf_units *u);
void sf_dwarf_units_done(struct sf_dwarf_units *u);
/* The unit with that number, or the one that contains an entry. NULL: none, or damaged. Valid until
 * the next load. */
const struct sf_dwarf_loaded *sf_dwarf_units_load(struct sf_dwarf_units *u, struct sf_dwarf *d,
                                                  uint32_t number);
const struct sf_dwarf_loaded *sf_dwarf_units_load_of(struct sf_dwarf_units *u, struct sf_dwarf *d,
                                                     uint64_t entry_off);
