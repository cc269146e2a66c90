/* elf_layout.h - converts between file offsets and addresses of a program's code.
 *
 * Profiles identify code by its offset in the program's file, which is the same in every process
 * and for every kind of program. Debug information uses the addresses assigned by the linker. The
 * program headers connect the two. A debug file made by `objcopy --only-keep-debug` has lost the
 * offsets: they are derived where that is certain, else the layout is unknown. */
#pragma once
#include "symbol/elf_file.h"

enum { SF_ELF_LAYOUT_PARTS = 16 };

struct sf_elf_layout {
    struct sf_elf_part {
        uint64_t off, at, len;
    } parts[SF_ELF_LAYOUT_PARTS]; /* segments of code */
    unsigned n;
};

/* False: it has no code with a known offset. */
bool sf_elf_layout_read(struct sf_elf_layout *l, const struct sf_elf_file *f);
/* Converts an offset to an address. A value that is not an offset of code but an address of it is
 * returned unchanged, because some senders have no offsets. False: neither. */
bool sf_elf_layout_address(const struct sf_elf_layout *l, uint64_t off, uint64_t *out_at);
bool sf_elf_layout_offset(const struct sf_elf_layout *l, uint64_t at, uint64_t *out_off);
