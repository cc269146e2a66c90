/* elf_unzstd.h - decompresses sections with zstd; for the server only, because the library does not
 * link zstd. */
#pragma once
#include "symbol/elf_inflate.h"

bool sf_elf_unzstd_all(sf_bytes in, uint8_t *out, size_t len);
