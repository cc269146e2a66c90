/* dwarf_function.h - the name of a function, from its entry or the entries it refers to. */
#pragma once
#include "symbol/dwarf_units.h"

struct sf_dwarf_function {
    sf_str name;         /* as in the source, without enclosing scopes */
    sf_str linkage_name; /* the linker's name; none for C */
    uint32_t decl_line;  /* line of its declaration; 0: unknown */
    uint64_t name_off;   /* the entry that has the name */
    bool is_shared;      /* that entry is in the shared file */
};

/* Fields that could not be read stay empty. Texts point into the file. */
void sf_dwarf_function_read(struct sf_dwarf_function *f, struct sf_dwarf_units *units,
                            struct sf_dwarf *d, uint64_t entry_off);
