/* elf_symbols.h - addresses of one file to function names, from its symbol table. Off the hot path;
 * the file may be anybody's and is not trusted. */
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
    sf_str names; /* the file's */
};

/* Those that hold one of the `n` sorted addresses, or with none all: of a table of a million most
 * are of no use here.
 * False: none does. The file stays open until done. */
bool sf_elf_symbols_read(struct sf_elf_symbols *s, const struct sf_elf_file *f, const uint64_t *at,
                         uint32_t n);
void sf_elf_symbols_done(struct sf_elf_symbols *s);
/* The function that holds `at` (as the file counts addresses), and its symbol; empty when none
 * does. */
sf_str sf_elf_symbols_find(const struct sf_elf_symbols *s, uint64_t at, struct sf_elf_symbol *out);
bool sf_elf_symbols_has_all(const struct sf_elf_file *f); /* not only those of the loader */
