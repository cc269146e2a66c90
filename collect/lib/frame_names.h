/* frame_names.h - what the files on this machine call the code at an address. Off the hot path; one
 * thread at a time. Files are opened when first asked for and closed with it. */
#pragma once
#include "base/str.h"
#include "collect/unwind/modules.h"

struct sf_elf_file;
struct sf_elf_symbols;

struct sf_frame_names {
    const struct sf_modules *m;     /* NULL: nothing is known */
    struct sf_elf_symbols *symbols; /* one per module, opened when first asked */
    struct sf_elf_file *files;
    bool *is_tried;
};

bool sf_frame_names_open(struct sf_frame_names *f); /* false: no memory; close it all the same */
void sf_frame_names_close(struct sf_frame_names *f);
/* The module that holds `at`, as its place + 1; 0: none. Its function, empty where its file has no
 * name for it; lives until close. */
uint32_t sf_frame_names_find(struct sf_frame_names *f, uint64_t at, sf_str *function);
