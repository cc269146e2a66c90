#include "elf_make.h"

#include <elf.h>
#include <string.h>

#include "test.h"

enum { CODE_LEN = 64 };

static void add_index(const struct elf_make *m, struct sf_buf *out)
{
    sf_buf_add(out, "\x01\x1b\x03\x3b", 4);
    sf_buf_add_u32le(out, 0);
    sf_buf_add_u32le(out, m->n_starts);
    for (uint32_t i = 0; i < m->n_starts; i++) {
        sf_buf_add_u32le(out, (uint32_t)m->starts[i]);
        sf_buf_add_u32le(out, 0);
    }
}

static void add_note(const struct elf_make *m, struct sf_buf *out)
{
    uint8_t id[ELF_MAKE_ID_LEN];
    memset(id, m->id, sizeof(id));
    sf_buf_add_u32le(out, 4);
    sf_buf_add_u32le(out, sizeof(id));
    sf_buf_add_u32le(out, NT_GNU_BUILD_ID);
    sf_buf_add(out, "GNU", 4);
    sf_buf_add(out, id, sizeof(id));
}

/* head, program headers, note, index, code, names of sections, section headers */
void elf_make(const struct elf_make *m, struct sf_buf *out)
{
    static const char names[] = "\0.note\0.eh_frame_hdr\0.text\0.names";
    Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, 1},
                       .e_type = ET_DYN,
                       .e_phoff = sizeof(head),
                       .e_phentsize = sizeof(Elf64_Phdr),
                       .e_phnum = 2,
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = 5,
                       .e_shstrndx = 4};
    Elf64_Phdr first = {.p_type = m->first_len ? PT_LOAD : PT_NULL,
                        .p_flags = PF_R,
                        .p_vaddr = m->first_at,
                        .p_filesz = m->first_len,
                        .p_memsz = m->first_len};
    Elf64_Phdr code = {.p_type = PT_LOAD,
                       .p_flags = PF_R | PF_X,
                       .p_offset = m->off,
                       .p_vaddr = m->at,
                       .p_filesz = m->file_len,
                       .p_memsz = m->memory_len};
    Elf64_Shdr sections[5] = {{0}};
    size_t from = out->len;
    assert_int_equal(from, 0);
    sf_buf_add(out, &head, sizeof(head));
    sf_buf_add(out, &first, sizeof(first));
    sf_buf_add(out, &code, sizeof(code));
    sections[1] = (Elf64_Shdr){.sh_name = 1, .sh_type = SHT_NOTE, .sh_offset = out->len};
    if (m->id)
        add_note(m, out);
    sections[1].sh_size = out->len - sections[1].sh_offset;
    sections[2] = (Elf64_Shdr){.sh_name = 7,
                               .sh_type = SHT_PROGBITS,
                               .sh_addr = ELF_MAKE_START_BASE,
                               .sh_offset = out->len};
    if (m->starts)
        add_index(m, out);
    sections[2].sh_size = out->len - sections[2].sh_offset;
    sections[3] = (Elf64_Shdr){.sh_name = 21,
                               .sh_type = m->is_stripped_of_code ? SHT_NOBITS : SHT_PROGBITS,
                               .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                               .sh_offset = out->len,
                               .sh_size = CODE_LEN};
    memset(sf_buf_take(out, CODE_LEN), 0x90, CODE_LEN);
    sections[4] = (Elf64_Shdr){
        .sh_name = 27, .sh_type = SHT_STRTAB, .sh_offset = out->len, .sh_size = sizeof(names)};
    sf_buf_add(out, names, sizeof(names));
    head.e_shoff = out->len;
    sf_buf_add(out, sections, sizeof(sections));
    assert_true(sf_buf_ok(out));
    memcpy(out->p, &head, sizeof(head));
}
