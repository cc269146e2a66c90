/* dwarf_value.h - the value of an attribute: read by its form, and made into what it represents. */
#pragma once
#include "symbol/dwarf.h"
#include "symbol/dwarf_cursor.h"

struct sf_dwarf_attr;
struct sf_dwarf_unit;

enum sf_dwarf_class {
    SF_DWARF_NONE,       /* skipped; such values are not needed here */
    SF_DWARF_NUMBER,     /* `u`; also an offset in the section that the attribute tells */
    SF_DWARF_ADDRESS,    /* `u` */
    SF_DWARF_ADDRESS_AT, /* its place in .debug_addr */
    SF_DWARF_ENTRY,      /* its offset in .debug_info */
    SF_DWARF_LIST_AT,    /* its place in .debug_rnglists */
    SF_DWARF_TEXT,       /* `s` */
    SF_DWARF_TEXT_OFF,   /* of .debug_str */
    SF_DWARF_LINE_TEXT_OFF,
    SF_DWARF_TEXT_AT,      /* its place in .debug_str_offsets */
    SF_DWARF_SHARED_ENTRY, /* the same in the shared file: its .debug_info, its .debug_str */
    SF_DWARF_SHARED_TEXT_OFF,
};

struct sf_dwarf_value {
    enum sf_dwarf_class kind;
    uint64_t u;
    sf_str s;
};

/* How long a value of that form is; false: its bytes tell. */
bool sf_dwarf_value_form_len(const struct sf_dwarf_unit *unit, uint16_t form, unsigned *out);
/* An unknown form makes the cursor bad: what follows it cannot be read. */
struct sf_dwarf_value sf_dwarf_value_read(const struct sf_dwarf_unit *unit,
                                          const struct sf_dwarf_attr *attr,
                                          struct sf_dwarf_cursor *c);
/* Empty when it is not a text, or lies nowhere. */
sf_str sf_dwarf_value_text(const struct sf_dwarf *d, const struct sf_dwarf_unit *unit,
                           const struct sf_dwarf_value *v);
bool sf_dwarf_value_address(const struct sf_dwarf *d, const struct sf_dwarf_unit *unit,
                            const struct sf_dwarf_value *v, uint64_t *out);
bool sf_dwarf_value_address_at(const struct sf_dwarf *d, const struct sf_dwarf_unit *unit,
                               uint64_t place, uint64_t *out);
