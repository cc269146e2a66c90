/* elf_inflate.h - decompresses sections that the linker has compressed (SHF_COMPRESSED).
 *
 * With zlib, which the library also uses for sending. The server provides a function for zstd;
 * without it, only the symbol table of such a file is used. */
#pragma once
#include "base/buf.h"
#include "symbol/elf_file.h"

enum { SF_ELF_ZSTD = 2 }; /* ELFCOMPRESS_ZSTD, which older headers do not have */

/* Fills all `len` bytes of `out`. False: damaged, another length, or no memory. */
typedef bool sf_elf_unzstd(sf_bytes in, uint8_t *out, size_t len);

/* The decompressed length according to the file; 0: not compressed, or damaged. */
uint64_t sf_elf_inflate_len(const struct sf_elf_section *s);
/* Appends the content of `s`, at most `max_len` bytes. `unzstd` may be NULL. False: another
 * compression, too long, damaged, no memory. */
bool sf_elf_inflate(const struct sf_elf_section *s, size_t max_len, sf_elf_unzstd *unzstd,
                    struct sf_buf *out);
