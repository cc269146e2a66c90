/* elf_layout.h - where a program's code lies in its file, and which addresses it has there.
 *
 * Profiles name code by its offset in the program's file: that is the same in every process and in
 * every kind of program. Debug information counts the addresses that the linker gave. The program
 * headers connect the two. A debug file made by `objcopy --only-keep-debug` has lost the offsets:
 * they are concluded where linkers leave no doubt, else the layout is not known. */
#pragma once
#include "symbol/elf_file.h"

enum { SF_ELF_LAYOUT_PARTS = 16 };

struct sf_elf_layout {
    struct sf_elf_part {
        uint64_t off, at, len;
    } parts[SF_ELF_LAYOUT_PARTS]; /* of code */
    unsigned n;
};

/* False: it has no code that it says the place of. */
bool sf_elf_layout_read(struct sf_elf_layout *l, const struct sf_elf_file *f);
/* An offset to an address. One that is not an offset of code but an address of it is taken as it
 * is: some senders have no offsets. False: neither. */
bool sf_elf_layout_address(const struct sf_elf_layout *l, uint64_t off, uint64_t *out_at);
bool sf_elf_layout_offset(const struct sf_elf_layout *l, uint64_t at, uint64_t *out_off);
