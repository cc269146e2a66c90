#include "symbol/elf_layout.h"

#include <elf.h>
#include <string.h>

enum { MAX_HEADERS = 1024, PAGE = 4096 };

static bool elf_layout_read_header(const struct sf_elf_file *f, const Elf64_Ehdr *head, unsigned at,
                                   Elf64_Phdr *out)
{
    uint64_t off = head->e_phoff + (uint64_t)at * sizeof(*out);
    if (head->e_phoff > f->image.len || off > f->image.len || sizeof(*out) > f->image.len - off ||
        !sf_file_pages_has((sf_bytes){f->image.p + off, sizeof(*out)}))
        return false;
    memcpy(out, f->image.p + off, sizeof(*out));
    return true;
}

/* Code normally has as many bytes in the file as in memory. If it has fewer, the content was
 * removed, and its offset is no longer valid. Then the offset is derived from the address: the
 * first segment begins at offset 0, and if the code begins at a page boundary, the linker has kept
 * addresses and offsets in step; a linker that saves padding gives other low bits. */
static bool elf_layout_find_part(const Elf64_Phdr *code, const Elf64_Phdr *first,
                                 struct sf_elf_part *out)
{
    uint64_t base = first->p_vaddr - first->p_vaddr % PAGE;
    *out = (struct sf_elf_part){code->p_offset, code->p_vaddr, code->p_memsz};
    if (code->p_filesz == code->p_memsz)
        return true;
    if (code->p_vaddr % PAGE || code->p_vaddr < base || first->p_vaddr % PAGE)
        return false;
    out->off = code->p_vaddr - base;
    return true;
}

bool sf_elf_layout_read(struct sf_elf_layout *l, const struct sf_elf_file *f)
{
    Elf64_Ehdr head;
    Elf64_Phdr one, first = {0};
    bool has_first = false;
    *l = (struct sf_elf_layout){0};
    if (f->image.len < sizeof(head) || !sf_file_pages_has((sf_bytes){f->image.p, sizeof(head)}))
        return false;
    memcpy(&head, f->image.p, sizeof(head));
    if (head.e_phentsize != sizeof(one) || head.e_phnum > MAX_HEADERS)
        return false;
    for (unsigned i = 0; i < head.e_phnum && elf_layout_read_header(f, &head, i, &one); i++) {
        if (one.p_type != PT_LOAD)
            continue;
        if (!has_first)
            first = one;
        has_first = true;
        if ((one.p_flags & PF_X) && one.p_memsz && l->n < SF_ELF_LAYOUT_PARTS &&
            elf_layout_find_part(&one, &first, &l->parts[l->n]))
            l->n++;
    }
    return l->n > 0;
}

bool sf_elf_layout_address(const struct sf_elf_layout *l, uint64_t off, uint64_t *out_at)
{
    for (unsigned i = 0; i < l->n; i++) {
        if (off - l->parts[i].off < l->parts[i].len) {
            *out_at = off - l->parts[i].off + l->parts[i].at;
            return true;
        }
    }
    for (unsigned i = 0; i < l->n; i++) {
        if (off - l->parts[i].at < l->parts[i].len) {
            *out_at = off;
            return true;
        }
    }
    return false;
}

bool sf_elf_layout_offset(const struct sf_elf_layout *l, uint64_t at, uint64_t *out_off)
{
    for (unsigned i = 0; i < l->n; i++) {
        if (at - l->parts[i].at < l->parts[i].len) {
            *out_off = at - l->parts[i].at + l->parts[i].off;
            return true;
        }
    }
    return false;
}
