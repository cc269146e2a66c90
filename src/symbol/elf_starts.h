/* elf_starts.h - where functions begin, from the index of the unwind tables (.eh_frame_hdr).
 *
 * Programs keep that index when they are stripped: it tells which addresses are of one function,
 * though not what that is called. */
#pragma once
#include "symbol/elf_file.h"

struct sf_elf_starts { /* zeroed: there are none */
    sf_bytes table;    /* pairs of 32 bits: start, and where its unwind data is; sorted */
    uint64_t base;     /* what they count from */
    uint32_t n;
};

/* False: no index, or one of a form that linkers do not write. */
bool sf_elf_starts_read(struct sf_elf_starts *s, const struct sf_elf_file *f);
/* The last start at or before `at`. */
bool sf_elf_starts_find(const struct sf_elf_starts *s, uint64_t at, uint64_t *out_start);
