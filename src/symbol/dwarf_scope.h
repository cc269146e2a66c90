/* dwarf_scope.h - the scope of a function: enclosing namespaces, classes and functions.
 *
 * Most C++ functions have a linkage name, which contains the scope. With GCC, lambdas in functions
 * with internal linkage have none, and would all be called "operator()". */
#pragma once
#include "symbol/dwarf_units.h"

/* Appends "main::{lambda#1}::" for the entry at `entry_off`. False: it has no scope, or it could
 * not be read; `out` is unchanged. */
bool sf_dwarf_scope_add(struct sf_dwarf_units *units, struct sf_dwarf *d, uint64_t entry_off,
                        struct sf_buf *out);
