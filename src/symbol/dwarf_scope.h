/* dwarf_scope.h - what a function lies in: namespaces, classes and functions around it.
 *
 * Compilers give most C++ functions a linkage name, which says that. Lambdas of functions that
 * others cannot see have none with GCC, and would all be called "operator()". */
#pragma once
#include "symbol/dwarf_units.h"

/* Appends "main::{lambda#1}::" for the entry at `entry_off`. False: nothing is around it, or it
 * could not be read; `out` is as it was. */
bool sf_dwarf_scope_add(struct sf_dwarf_units *units, struct sf_dwarf *d, uint64_t entry_off,
                        struct sf_buf *out);
