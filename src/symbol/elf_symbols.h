/* elf_symbols.h - finds function names for addresses of one file in its symbol table. Not for
 * signal handlers or hooks; the file is not trusted. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "symbol/elf_file.h"

struct sf_elf_symbol {
    uint64_t at;
    uint32_t len;
    uint32_t name; /* offset in the string table */
};

struct sf_elf_symbols {
    struct sf_buf list; /* struct sf_elf_symbol, sorted */
    uint32_t n;
    sf_str names; /* string table of the file */
};

/* Reads the symbols that contain one of the `n` sorted addresses (n 0: all), because most of a
 * table of a million are not needed. False: none. The file must stay open until done. */
bool sf_elf_symbols_read(struct sf_elf_symbols *s, const struct sf_elf_file *f, const uint64_t *at,
                         uint32_t n);
void sf_elf_symbols_done(struct sf_elf_symbols *s);
/* The name of the function that contains `at` (a virtual address of the file), and its symbol;
 * empty if there is none. */
sf_str sf_elf_symbols_find(const struct sf_elf_symbols *s, uint64_t at, struct sf_elf_symbol *out);
bool sf_elf_symbols_has_all(const struct sf_elf_file *f); /* true: the full table, not only that of
                                                           * the loader */
