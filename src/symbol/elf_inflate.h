/* elf_inflate.h - sections that the linker compressed (SHF_COMPRESSED), made plain.
 *
 * With zlib, which the library has for what it sends. Of those with zstd nothing is known here:
 * such a file keeps the names of its symbol table. */
#pragma once
#include "base/buf.h"
#include "symbol/elf_file.h"

/* Appends what `s` holds, at most `max_len` bytes. False: not zlib, too much, damaged, no memory.
 */
bool sf_elf_inflate(const struct sf_elf_section *s, size_t max_len, struct sf_buf *out);
