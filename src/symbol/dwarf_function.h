/* dwarf_function.h - what a function is called: its entry says, or the one that it stems from. */
#pragma once
#include "symbol/dwarf_units.h"

struct sf_dwarf_function {
    sf_str name;         /* as in the source, without what it lies in */
    sf_str linkage_name; /* as the linker knows it; C has none */
    uint32_t decl_line;  /* where it is declared; 0: unknown */
    uint64_t name_off;   /* the entry that has the name */
    bool is_shared;      /* which lies in the shared file */
};

/* What could not be read stays empty. Texts are the file's. */
void sf_dwarf_function_read(struct sf_dwarf_function *f, struct sf_dwarf_units *units,
                            struct sf_dwarf *d, uint64_t entry_off);
