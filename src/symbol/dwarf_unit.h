/* dwarf_unit.h - one unit of debug information, most often a source file with what it includes: its
 * header and the attributes of its first entry. */
#pragma once
#include "symbol/dwarf.h"
#include "symbol/dwarf_ranges.h"

struct sf_dwarf_abbrevs;

struct sf_dwarf_unit {
    uint64_t off, end;   /* in .debug_info, as all offsets of entries */
    uint64_t entry_off;  /* of its first entry */
    uint64_t abbrev_off; /* in .debug_abbrev */
    uint16_t version;
    uint8_t addr_size, off_size, type;

    /* Of the first entry. */
    struct sf_dwarf_code code;
    uint64_t base; /* that its ranges count from */
    uint64_t str_offsets_base, addr_base, rnglists_base;
    uint64_t ranges_base; /* of GNU's split units */
    uint64_t split_id;    /* that both halves of a split unit have; 0: none */
    uint64_t lines_off;   /* in .debug_line */
    bool has_lines;
    bool is_split; /* its functions are in a .dwo file */
    sf_str folder; /* where the compiler ran */
    sf_str name;
};

/* The header at `off`. False: damaged. A unit of a kind or version that is not known is skipped by
 * its caller: `is_known` says. */
bool sf_dwarf_unit_read(struct sf_dwarf_unit *u, const struct sf_dwarf *d, uint64_t off,
                        bool *is_known);
/* The first entry. `scratch` holds some of the unit's shapes then. False: damaged. */
bool sf_dwarf_unit_read_root(struct sf_dwarf_unit *u, struct sf_dwarf *d,
                             struct sf_dwarf_abbrevs *scratch);
