/* dwarf_value.h - the value of an attribute: reads it by its form and interprets it. */
#pragma once
#include "symbol/dwarf.h"
#include "symbol/dwarf_cursor.h"

struct sf_dwarf_attr;
struct sf_dwarf_unit;

enum sf_dwarf_class {
    SF_DWARF_NONE,       /* skipped: not needed */
    SF_DWARF_NUMBER,     /* `u`; also an offset in the section that belongs to the attribute */
    SF_DWARF_ADDRESS,    /* `u` */
    SF_DWARF_ADDRESS_AT, /* index in .debug_addr */
    SF_DWARF_ENTRY,      /* offset in .debug_info */
    SF_DWARF_LIST_AT,    /* index in .debug_rnglists */
    SF_DWARF_TEXT,       /* `s` */
    SF_DWARF_TEXT_OFF,   /* offset in .debug_str */
    SF_DWARF_LINE_TEXT_OFF,
    SF_DWARF_TEXT_AT,      /* index in .debug_str_offsets */
    SF_DWARF_SHARED_ENTRY, /* the same in the shared file: its .debug_info, its .debug_str */
    SF_DWARF_SHARED_TEXT_OFF,
};

struct sf_dwarf_value {
    enum sf_dwarf_class kind;
    uint64_t u;
    sf_str s;
};

/* The length of a value of that form; false: depends on its bytes. */
bool sf_dwarf_value_form_len(const struct sf_dwarf_unit *unit, uint16_t form, unsigned *out);
/* For an unknown form the cursor gets an error, because the rest cannot be read. */
struct sf_dwarf_value sf_dwarf_value_read(const struct sf_dwarf_unit *unit,
                                          const struct sf_dwarf_attr *attr,
                                          struct sf_dwarf_cursor *c);
/* Empty if it is not a text, or points outside of its section. */
sf_str sf_dwarf_value_text(const struct sf_dwarf *d, const struct sf_dwarf_unit *unit,
                           const struct sf_dwarf_value *v);
bool sf_dwarf_value_address(const struct sf_dwarf *d, const struct sf_dwarf_unit *unit,
                            const struct sf_dwarf_value *v, uint64_t *out);
bool sf_dwarf_value_address_at(const struct sf_dwarf *d, const struct sf_dwarf_unit *unit,
                               uint64_t place, uint64_t *out);
