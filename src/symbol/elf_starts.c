#include "symbol/elf_starts.h"

#include <elf.h>

#include "base/num.h"

/* u8 version 1, u8 encoding of the pointer to .eh_frame (signed 32 bits, relative to itself), u8
 * encoding of the count (32 bits), u8 encoding of the table (signed 32 bits, relative to the
 * section's start): the values that every linker writes. */
enum {
    VERSION = 1,
    POINTER_LEN = 4,
    ENC_COUNT = 0x03,
    ENC_TABLE = 0x3b,
    ENC_SIZE = 0x0f,
    ENC_U4 = 0x03,
    ENC_S4 = 0x0b,
    HEAD_LEN = 12,
    ENTRY_LEN = 8
};

static bool elf_starts_read_index(struct sf_elf_starts *s, const struct sf_elf_section *in)
{
    const uint8_t *p = in->bytes.p;
    uint8_t pointer;
    if (in->bytes.len < HEAD_LEN || !sf_file_pages_has((sf_bytes){p, HEAD_LEN}))
        return false;
    pointer = p[1] & ENC_SIZE;
    if (p[0] != VERSION || (pointer != ENC_U4 && pointer != ENC_S4) || p[2] != ENC_COUNT ||
        p[3] != ENC_TABLE)
        return false;
    s->n = sf_load_u32le(p + 4 + POINTER_LEN);
    s->table = (sf_bytes){p + HEAD_LEN, in->bytes.len - HEAD_LEN};
    s->base = in->addr;
    if (s->n > s->table.len / ENTRY_LEN)
        s->n = (uint32_t)(s->table.len / ENTRY_LEN);
    return s->n > 0;
}

bool sf_elf_starts_read(struct sf_elf_starts *s, const struct sf_elf_file *f)
{
    *s = (struct sf_elf_starts){0};
    for (uint32_t i = 0; i < f->n_sections; i++) {
        struct sf_elf_section one;
        if (!sf_elf_file_section(f, i, &one) || !sf_str_eq(one.name, SF_STR(".eh_frame_hdr")) ||
            one.type == SHT_NOBITS)
            continue;
        if (elf_starts_read_index(s, &one))
            return true;
        *s = (struct sf_elf_starts){0};
        return false;
    }
    return false;
}

static bool start_at(const struct sf_elf_starts *s, uint32_t place, uint64_t *out)
{
    const uint8_t *p = s->table.p + (size_t)place * ENTRY_LEN;
    if (!sf_file_pages_has((sf_bytes){p, ENTRY_LEN}))
        return false;
    *out = s->base + (uint64_t)(int64_t)(int32_t)sf_load_u32le(p);
    return true;
}

bool sf_elf_starts_find(const struct sf_elf_starts *s, uint64_t at, uint64_t *out_start)
{
    uint32_t lo = 0, hi = s->n;
    uint64_t start;
    while (lo < hi) {
        uint32_t middle = lo + (hi - lo) / 2;
        if (!start_at(s, middle, &start))
            return false;
        if (start <= at)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo > 0 && start_at(s, lo - 1, out_start) && *out_start <= at;
}
