/* dwarf_line_table.h - the header of a unit's line program, DWARF 2 to 5: how its bytes are to be
 * read, and the files that it speaks of. */
#pragma once
#include "base/buf.h"
#include "symbol/dwarf.h"
#include "symbol/dwarf_cursor.h"

struct sf_dwarf_unit;

struct sf_dwarf_line_table { /* a zeroed one is empty */
    struct sf_dwarf_cursor program;
    uint8_t version_5; /* files and folders count from 0 */
    uint8_t addr_size;
    uint8_t min_len, line_range, opcode_base;
    int8_t line_base;
    sf_bytes operands;     /* how many each standard opcode has, from opcode 1 on */
    struct sf_buf folders; /* sf_str; element 0 is where the compiler ran */
    struct sf_buf files;   /* of private kind */
};

/* The table before is replaced. False: damaged, of an unknown version, or work or memory ran out.
 */
bool sf_dwarf_line_table_read(struct sf_dwarf_line_table *t, struct sf_dwarf *d,
                              const struct sf_dwarf_unit *unit);
void sf_dwarf_line_table_done(struct sf_dwarf_line_table *t);
/* Appends the whole path of file `at`, without "." and "..". False: there is none. */
bool sf_dwarf_line_table_file(const struct sf_dwarf_line_table *t, uint64_t at, struct sf_buf *out);
