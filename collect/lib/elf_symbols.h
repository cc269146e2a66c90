/* elf_symbols.h - addresses of one file to function names, from its symbol table. Off the hot path;
 * the file may be anybody's and is not trusted. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct sf_elf_symbol {
    uint64_t at;
    uint32_t len;
    uint32_t name; /* offset in the string table */
};

struct sf_elf_symbols {
    const uint8_t *file; /* mapped */
    size_t file_len;
    struct sf_elf_symbol *list; /* heap, sorted */
    uint32_t n;
    sf_str names;
};

/* False: no such file, not ELF, or no functions in it. */
bool sf_elf_symbols_open(struct sf_elf_symbols *s, const char *path);
void sf_elf_symbols_close(struct sf_elf_symbols *s);
/* The function that holds `at` (as the file counts addresses); empty when none does. */
sf_str sf_elf_symbols_find(const struct sf_elf_symbols *s, uint64_t at, uint64_t *out_start);
