/* dwarf_line_table.h - the header of a unit's line program, DWARF 2 to 5: parameters of its
 * opcodes, and the files that it refers to. */
#pragma once
#include "base/buf.h"
#include "symbol/dwarf.h"
#include "symbol/dwarf_cursor.h"

struct sf_dwarf_unit;

struct sf_dwarf_line_table { /* a zeroed one is empty */
    struct sf_dwarf_cursor program;
    uint8_t version_5; /* files and folders are numbered from 0 */
    uint8_t addr_size;
    uint8_t min_len, line_range, opcode_base;
    int8_t line_base;
    sf_bytes operands;     /* number of operands of each standard opcode, from opcode 1 on */
    struct sf_buf folders; /* sf_str; element 0 is the compilation directory */
    struct sf_buf files;   /* struct in the .c file */
};

/* Replaces the previous table. False: damaged, unknown version, or the work limit or memory is
 * exhausted. */
bool sf_dwarf_line_table_read(struct sf_dwarf_line_table *t, struct sf_dwarf *d,
                              const struct sf_dwarf_unit *unit);
void sf_dwarf_line_table_done(struct sf_dwarf_line_table *t);
/* Appends the full path of file `at`, without "." and "..". False: there is none. */
bool sf_dwarf_line_table_file(const struct sf_dwarf_line_table *t, uint64_t at, struct sf_buf *out);
