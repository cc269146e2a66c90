/* elf_unzstd.h - sections that were compressed with zstd: the server's, the library links no zstd.
 */
#pragma once
#include "symbol/elf_inflate.h"

bool sf_elf_unzstd_all(sf_bytes in, uint8_t *out, size_t len);
