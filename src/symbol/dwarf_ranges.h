/* dwarf_ranges.h - the address ranges of a unit, a function or an inlined call: from low and high
 * address, .debug_ranges (DWARF 2 to 4) or .debug_rnglists (DWARF 5). */
#pragma once
#include "symbol/dwarf.h"
#include "symbol/dwarf_cursor.h"
#include "symbol/dwarf_value.h"

struct sf_dwarf_code { /* attributes of an entry that give its code; zeroed: no code */
    struct sf_dwarf_value low, high, ranges;
};

/* Stores the attribute if it gives the code of the entry. */
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
/* The next [lo, hi), never empty. Code that the linker has removed begins at 0 or 1 or at the
 * highest address, and is skipped. */
bool sf_dwarf_ranges_next(struct sf_dwarf_ranges *r, uint64_t *lo, uint64_t *hi);
