/* elf_make.h - small ELF files for tests: a build id, a segment of code, an index of functions. */
#pragma once
#include "base/buf.h"

struct elf_make {
    uint64_t off, at, file_len, memory_len; /* of the code's segment */
    uint64_t first_at, first_len;           /* with a length: a segment before it, from offset 0 */
    uint8_t id;                             /* every byte of the build id; 0: there is none */
    bool is_stripped_of_code;               /* the section of code has no bytes */
    const int32_t *starts;                  /* of functions, from START_BASE on; NULL: no index */
    uint32_t n_starts;
};
enum { ELF_MAKE_START_BASE = 0x8000, ELF_MAKE_ID_LEN = 20 };

void elf_make(const struct elf_make *m, struct sf_buf *out);
