/* elf_inflate.h - sections that the linker compressed (SHF_COMPRESSED), made plain.
 *
 * With zlib, which the library has for what it sends. The server brings a reader of zstd; without
 * one such a file keeps the names of its symbol table. */
#pragma once
#include "base/buf.h"
#include "symbol/elf_file.h"

enum { SF_ELF_ZSTD = 2 }; /* ELFCOMPRESS_ZSTD, which older headers do not have */

/* Fills all `len` bytes of `out`. False: damaged, another length, or no memory. */
typedef bool sf_elf_unzstd(sf_bytes in, uint8_t *out, size_t len);

/* What it will be, as the file says; 0: it is not compressed, or damaged. */
uint64_t sf_elf_inflate_len(const struct sf_elf_section *s);
/* Appends what `s` holds, at most `max_len` bytes. `unzstd` may be NULL. False: compressed in
 * another way, too much, damaged, no memory. */
bool sf_elf_inflate(const struct sf_elf_section *s, size_t max_len, sf_elf_unzstd *unzstd,
                    struct sf_buf *out);
