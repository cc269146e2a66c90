/* module_symbols.h - what a file knows of addresses in it: debug information where it
 * or a file apart from it has some, else its symbol table. Off the hot path; no file is trusted. */
#pragma once
#include "symbol/debug_info.h"

/* The innermost line first, the function itself last; all is borrowed until it returns. `n` is 0
 * when it is not known. */
typedef sf_debug_info_taker sf_symbol_taker;

extern const struct sf_debug_more sf_module_symbols_inside; /* the most inside of a program */

/* Calls `take` once for each of the `n` sorted addresses, as the file counts them, in any order. A
 * file with another build id than `build_id` (empty: any will do) has taken the place of the one
 * that runs: the program's own is still to be obtained from the system then. `*is_cut` (may be
 * NULL): there is debug information that `more` did not allow to be read, so some answers are what
 * the symbol table says. False: no such file, not ELF, or no memory; `take` was not called then. */
bool sf_module_symbols_find(const char *path, sf_bytes build_id, const struct sf_debug_more *more,
                            const uint64_t *at, uint32_t n, sf_symbol_taker *take, void *arg,
                            bool *is_cut);
/* The same of a file that lies in memory. */
bool sf_module_symbols_find_in(sf_bytes image, const uint64_t *at, uint32_t n,
                               sf_symbol_taker *take, void *arg);
/* The same of files that are open. `apart` is looked into for what `f` does not have, and may be
 * zeroed. */
bool sf_module_symbols_find_open(const struct sf_elf_file *f, struct sf_elf_file *apart,
                                 const struct sf_debug_more *more, const uint64_t *at, uint32_t n,
                                 sf_symbol_taker *take, void *arg);
