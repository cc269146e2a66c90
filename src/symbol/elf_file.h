/* elf_file.h - the sections of one ELF file, from disk or from memory.
 *
 * The file is not trusted: every section is checked against the file's length. Its pages must be
 * requested (file_pages.h) before they are read, except for a section's name. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "symbol/file_pages.h"

struct sf_elf_section {
    uint32_t type, link;
    uint64_t flags;
    uint64_t addr; /* virtual address; 0: not loaded */
    sf_str name;
    sf_bytes bytes; /* as in the file */
};

struct sf_elf_file {
    sf_bytes image;
    struct sf_file_pages pages; /* pages of the file; not open when the image is in memory */
    uint64_t heads_off;         /* file offset of the section headers */
    uint32_t n_sections;
    sf_bytes names;
};

/* False: no such file, or not a little-endian ELF file of 64 bits. */
bool sf_elf_file_open(struct sf_elf_file *f, const char *path);
bool sf_elf_file_init(struct sf_elf_file *f, sf_bytes image); /* borrowed until close */
void sf_elf_file_close(struct sf_elf_file *f);                /* a zeroed one is fine */
/* False: there is no section with that number, or it is not inside the file. */
bool sf_elf_file_section(const struct sf_elf_file *f, uint32_t at, struct sf_elf_section *out);
