/* dwarf_abbrevs.h - the abbreviation table of a unit: which attributes in which form an entry has,
 * by its code. */
#pragma once
#include "base/buf.h"
#include "symbol/dwarf.h"

struct sf_dwarf_unit;

struct sf_dwarf_attr {
    uint16_t name, form; /* an attribute number that is too large is stored as 0: it is never
                          * needed */
    int64_t constant;    /* of SF_FORM_IMPLICIT_CONST */
};

struct sf_dwarf_abbrev {
    uint64_t code;
    uint32_t attrs_at, n_attrs;
    uint32_t len; /* length of all its attributes; 0 with `is_fixed` false: depends on the values */
    uint16_t tag;
    bool has_children, is_fixed;
    bool has_code, has_sibling; /* DW_AT_low_pc or DW_AT_ranges; DW_AT_sibling */
};

struct sf_dwarf_abbrevs { /* a zeroed one is empty */
    uint64_t off;
    struct sf_buf list, attrs;
    bool is_dense; /* the codes are 1, 2, 3 and so on, as all compilers write them */
};

/* Reads the table of `unit`, up to the entry `last_code`, or all of it with 0; replaces the
 * previous one. False: damaged, too large, or the work limit or memory is exhausted. */
bool sf_dwarf_abbrevs_read(struct sf_dwarf_abbrevs *a, struct sf_dwarf *d,
                           const struct sf_dwarf_unit *unit, uint64_t last_code);
void sf_dwarf_abbrevs_done(struct sf_dwarf_abbrevs *a);
/* NULL: there is none. */
const struct sf_dwarf_abbrev *sf_dwarf_abbrevs_find(const struct sf_dwarf_abbrevs *a,
                                                    struct sf_dwarf *d, uint64_t code);
const struct sf_dwarf_attr *sf_dwarf_abbrevs_attrs(const struct sf_dwarf_abbrevs *a,
                                                   const struct sf_dwarf_abbrev *one);
