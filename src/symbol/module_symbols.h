/* module_symbols.h - finds names and lines of addresses in a file: from debug information in it or
 * in a separate file, else from its symbol table. Not for signal handlers or hooks; files are not
 * trusted. */
#pragma once
#include "symbol/debug_info.h"

/* The innermost line first, the function itself last; valid only during the call. `n` is 0 if
 * unknown. */
typedef sf_debug_info_taker sf_symbol_taker;

extern const struct sf_debug_more sf_module_symbols_inside; /* the limits inside a profiled
                                                             * program */

/* Calls `take` once for each of the `n` sorted addresses, as the file counts them, in any order. If
 * the file has another build id than `build_id` (empty: any), it has replaced the one that is
 * running: then the running program's own file (/proc/self/exe) is used instead, if it has that
 * build id. `*is_cut` (may be NULL): `more` did not allow all debug information to be read, so some
 * results come from the symbol table. False: no such file, not ELF, or no memory; `take` was not
 * called then. */
bool sf_module_symbols_find(const char *path, sf_bytes build_id, const struct sf_debug_more *more,
                            const uint64_t *at, uint32_t n, sf_symbol_taker *take, void *arg,
                            bool *is_cut);
/* The same for a file in memory. */
bool sf_module_symbols_find_in(sf_bytes image, const uint64_t *at, uint32_t n,
                               sf_symbol_taker *take, void *arg);
/* The same for open files. `apart` is used for information that `f` does not have, and may be
 * zeroed. */
bool sf_module_symbols_find_open(const struct sf_elf_file *f, struct sf_elf_file *apart,
                                 const struct sf_debug_more *more, const uint64_t *at, uint32_t n,
                                 sf_symbol_taker *take, void *arg);
