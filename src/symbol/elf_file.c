#include "symbol/elf_file.h"

#include <elf.h>
#include <string.h>

enum { NAME_MAX_LEN = 64 }; /* longer names are not searched for */

static bool elf_file_is_inside(const struct sf_elf_file *f, uint64_t at, uint64_t len)
{
    return at <= f->image.len && len <= f->image.len - at;
}

static bool elf_file_read_head(const struct sf_elf_file *f, uint32_t at, Elf64_Shdr *out)
{
    const uint8_t *p = f->image.p + f->heads_off + at * sizeof(*out);
    if (at >= f->n_sections || !sf_file_pages_has((sf_bytes){p, sizeof(*out)}))
        return false;
    memcpy(out, p, sizeof(*out));
    return true;
}

/* With 65,280 sections and more, the first header has their number and the index of the names. */
static bool elf_file_read_counts(struct sf_elf_file *f, uint32_t n, uint32_t names)
{
    Elf64_Shdr head;
    f->n_sections = 1;
    if (!elf_file_is_inside(f, f->heads_off, sizeof(head)) || !elf_file_read_head(f, 0, &head))
        return false;
    if (!n && head.sh_size <= UINT32_MAX)
        n = (uint32_t)head.sh_size;
    if (names == SHN_XINDEX)
        names = head.sh_link;
    if (!elf_file_is_inside(f, f->heads_off, (uint64_t)n * sizeof(head)))
        return false;
    f->n_sections = n;
    if (elf_file_read_head(f, names, &head) && elf_file_is_inside(f, head.sh_offset, head.sh_size))
        f->names = (sf_bytes){f->image.p + head.sh_offset, head.sh_size};
    return true;
}

static bool read_image(struct sf_elf_file *f, sf_bytes image)
{
    Elf64_Ehdr head;
    f->image = image;
    f->names = SF_BYTES_NONE;
    if (image.len < sizeof(head) || !sf_file_pages_has((sf_bytes){image.p, sizeof(head)}))
        return false;
    memcpy(&head, image.p, sizeof(head));
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_shentsize != sizeof(Elf64_Shdr))
        return false;
    f->heads_off = head.e_shoff;
    return elf_file_read_counts(f, head.e_shnum, head.e_shstrndx);
}

bool sf_elf_file_init(struct sf_elf_file *f, sf_bytes image)
{
    *f = (struct sf_elf_file){0};
    return read_image(f, image);
}

bool sf_elf_file_open(struct sf_elf_file *f, const char *path)
{
    *f = (struct sf_elf_file){0};
    if (!sf_file_pages_open(&f->pages, path))
        return false;
    if (read_image(f, (sf_bytes){f->pages.base, f->pages.len}))
        return true;
    sf_elf_file_close(f);
    return false;
}

void sf_elf_file_close(struct sf_elf_file *f)
{
    sf_file_pages_close(&f->pages);
    *f = (struct sf_elf_file){0};
}

bool sf_elf_file_section(const struct sf_elf_file *f, uint32_t at, struct sf_elf_section *out)
{
    Elf64_Shdr head;
    if (!elf_file_read_head(f, at, &head))
        return false;
    *out = (struct sf_elf_section){
        .type = head.sh_type, .link = head.sh_link, .flags = head.sh_flags, .addr = head.sh_addr};
    if (head.sh_name < f->names.len) {
        size_t most = f->names.len - head.sh_name;
        out->name = sf_file_pages_text((const char *)f->names.p + head.sh_name,
                                       most < NAME_MAX_LEN ? most : NAME_MAX_LEN);
    }
    if (head.sh_type == SHT_NOBITS)
        return true;
    if (!elf_file_is_inside(f, head.sh_offset, head.sh_size))
        return false;
    out->bytes = (sf_bytes){f->image.p + head.sh_offset, head.sh_size};
    return true;
}
