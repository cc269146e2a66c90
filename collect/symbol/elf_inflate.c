#include "collect/symbol/elf_inflate.h"

#include <elf.h>
#include <string.h>
#include <zlib.h>

#include "base/heap.h"

/* zlib's own memory is ours, not the program's. */
static void *give(void *arg, uInt n, uInt size)
{
    (void)arg;
    return sf_heap_new_n(n, size);
}

static void take_back(void *arg, void *p)
{
    (void)arg;
    sf_heap_free(p);
}

static bool inflate_all(sf_bytes in, uint8_t *out, size_t len)
{
    z_stream z = {.zalloc = give, .zfree = take_back};
    bool ok;
    if (in.len > UINT32_MAX || len > UINT32_MAX || inflateInit(&z) != Z_OK)
        return false;
    z.next_in = (Bytef *)(uintptr_t)in.p;
    z.avail_in = (uInt)in.len;
    z.next_out = out;
    z.avail_out = (uInt)len;
    ok = inflate(&z, Z_FINISH) == Z_STREAM_END && !z.avail_out;
    inflateEnd(&z);
    return ok;
}

bool sf_elf_inflate(const struct sf_elf_section *s, size_t max_len, struct sf_buf *out)
{
    Elf64_Chdr head;
    sf_bytes in = s->bytes;
    uint8_t *to;
    if (in.len < sizeof(head))
        return false;
    memcpy(&head, in.p, sizeof(head));
    if (head.ch_type != ELFCOMPRESS_ZLIB || !head.ch_size || head.ch_size > max_len)
        return false;
    to = sf_buf_take(out, head.ch_size);
    return to &&
           inflate_all((sf_bytes){in.p + sizeof(head), in.len - sizeof(head)}, to, head.ch_size);
}
