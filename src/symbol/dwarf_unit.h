/* dwarf_unit.h - one unit of debug information, usually a source file with its includes: its header
 * and the attributes of its first entry. */
#pragma once
#include "symbol/dwarf.h"
#include "symbol/dwarf_ranges.h"

struct sf_dwarf_abbrevs;

struct sf_dwarf_unit {
    uint64_t off, end;   /* in .debug_info, like all offsets of entries */
    uint64_t entry_off;  /* of its first entry */
    uint64_t abbrev_off; /* in .debug_abbrev */
    uint16_t version;
    uint8_t addr_size, off_size, type;

    /* Attributes of the first entry. */
    struct sf_dwarf_code code;
    uint64_t base; /* base address of its ranges */
    uint64_t str_offsets_base, addr_base, rnglists_base;
    uint64_t ranges_base; /* for GNU's split units */
    uint64_t split_id;    /* id of both parts of a split unit; 0: none */
    uint64_t lines_off;   /* in .debug_line */
    bool has_lines;
    bool is_split; /* its functions are in a .dwo file */
    sf_str folder; /* compilation directory */
    sf_str name;
};

/* Reads the header at `off`. False: damaged. The caller skips a unit of an unknown kind or version
 * (`is_known` is false). */
bool sf_dwarf_unit_read(struct sf_dwarf_unit *u, const struct sf_dwarf *d, uint64_t off,
                        bool *is_known);
/* Reads the first entry. `scratch` then contains some of the unit's abbreviations. False:
 * damaged. */
bool sf_dwarf_unit_read_root(struct sf_dwarf_unit *u, struct sf_dwarf *d,
                             struct sf_dwarf_abbrevs *scratch);
