/* dwarf_ranges.h - the addresses that a unit, a function or an inlined call covers: from its two
 * ends, .debug_ranges (DWARF 2 to 4) or .debug_rnglists (DWARF 5). */
#pragma once
#include "symbol/dwarf.h"
#include "symbol/dwarf_cursor.h"
#include "symbol/dwarf_value.h"

struct sf_dwarf_code { /* what the attributes of an entry say; a zeroed one covers nothing */
    struct sf_dwarf_value low, high, ranges;
};

/* Keeps the attribute when it says which code this is. */
void sf_dwarf_ranges_code_take(struct sf_dwarf_code *code, uint16_t name,
                               const struct sf_dwarf_value *v);

struct sf_dwarf_ranges {
    struct sf_dwarf *d;
    const struct sf_dwarf_unit *unit;
    struct sf_dwarf_cursor c;
    uint64_t base, lo, hi;
    enum { SF_RANGES_DONE, SF_RANGES_ONE, SF_RANGES_OLD, SF_RANGES_LIST } kind;
};

void sf_dwarf_ranges_init(struct sf_dwarf_ranges *r, struct sf_dwarf *d,
                          const struct sf_dwarf_unit *unit, const struct sf_dwarf_code *code);
/* [lo, hi), never empty. Code that the linker left out begins at 0 or 1 or at the very end, and
 * belongs to no function. */
bool sf_dwarf_ranges_next(struct sf_dwarf_ranges *r, uint64_t *lo, uint64_t *hi);
