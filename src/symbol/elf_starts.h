/* elf_starts.h - start addresses of functions, from the index of the unwind tables (.eh_frame_hdr).
 *
 * Stripped programs keep that index: it tells which addresses belong to one function, though not
 * its name. */
#pragma once
#include "symbol/elf_file.h"

struct sf_elf_starts { /* zeroed: none */
    sf_bytes table;    /* pairs of 32 bits: start, and position of its unwind data; sorted */
    uint64_t base;     /* base of these relative values */
    uint32_t n;
};

/* False: no index, or in a form that linkers do not write. */
bool sf_elf_starts_read(struct sf_elf_starts *s, const struct sf_elf_file *f);
/* The last start at or before `at`. */
bool sf_elf_starts_find(const struct sf_elf_starts *s, uint64_t at, uint64_t *out_start);
