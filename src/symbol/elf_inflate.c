#include "symbol/elf_inflate.h"

#include <elf.h>
#include <string.h>
#include <zlib.h>

#include "base/heap.h"

enum { PIECE = 64 * 1024 };

/* zlib allocates from the library's heap, not with the program's malloc. */
static void *elf_inflate_give(void *arg, uInt n, uInt size)
{
    (void)arg;
    return sf_heap_new_n(n, size);
}

static void elf_inflate_take_back(void *arg, void *p)
{
    (void)arg;
    sf_heap_free(p);
}

static bool inflate_all(sf_bytes in, uint8_t *out, size_t len)
{
    z_stream z = {.zalloc = elf_inflate_give, .zfree = elf_inflate_take_back};
    int err = Z_OK;
    if (in.len > UINT32_MAX || len > UINT32_MAX || inflateInit(&z) != Z_OK)
        return false;
    z.next_out = out;
    z.avail_out = (uInt)len;
    while (in.len && err == Z_OK) {
        sf_bytes some = {in.p, in.len < PIECE ? in.len : PIECE};
        if (!sf_file_pages_has(some))
            break;
        z.next_in = (Bytef *)(uintptr_t)some.p;
        z.avail_in = (uInt)some.len;
        err = inflate(&z, Z_NO_FLUSH);
        in = (sf_bytes){in.p + some.len, in.len - some.len};
        sf_file_pages_trim();
    }
    inflateEnd(&z);
    return err == Z_STREAM_END && !z.avail_out;
}

static bool elf_inflate_read_head(const struct sf_elf_section *s, Elf64_Chdr *head)
{
    if (s->bytes.len < sizeof(*head) || !sf_file_pages_has((sf_bytes){s->bytes.p, sizeof(*head)}))
        return false;
    memcpy(head, s->bytes.p, sizeof(*head));
    return true;
}

uint64_t sf_elf_inflate_len(const struct sf_elf_section *s)
{
    Elf64_Chdr head;
    return s->flags & SHF_COMPRESSED && elf_inflate_read_head(s, &head) ? head.ch_size : 0;
}

bool sf_elf_inflate(const struct sf_elf_section *s, size_t max_len, sf_elf_unzstd *unzstd,
                    struct sf_buf *out)
{
    Elf64_Chdr head;
    sf_bytes in = s->bytes;
    sf_elf_unzstd *unpack = unzstd;
    uint8_t *to;
    if (!elf_inflate_read_head(s, &head))
        return false;
    if (head.ch_type == ELFCOMPRESS_ZLIB)
        unpack = inflate_all;
    else if (head.ch_type != SF_ELF_ZSTD)
        unpack = NULL;
    if (!unpack || !head.ch_size || head.ch_size > max_len)
        return false;
    to = sf_buf_take(out, head.ch_size);
    return to && unpack((sf_bytes){in.p + sizeof(head), in.len - sizeof(head)}, to, head.ch_size);
}
