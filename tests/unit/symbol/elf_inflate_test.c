#include "test.h"

#include "base/buf.h"
#include "symbol/elf_inflate.h"

/* Elf64_Chdr{u32 type, u32 0, u64 size, u64 alignment}, then zlib: here "hello" in a stored block.
 */
static void fill(uint8_t *to, uint64_t type, uint64_t size)
{
    static const uint8_t stream[] = {0x78, 0x01, 1,   5,   0,    0xfa, 0xff, 'h',
                                     'e',  'l',  'l', 'o', 0x06, 0x2c, 0x02, 0x15};
    memset(to, 0, 24);
    memcpy(to, &type, 4);
    memcpy(to + 8, &size, 8);
    memcpy(to + 24, stream, sizeof(stream));
}

TEST(elf_inflate, gives_what_was_compressed_and_nothing_else)
{
    uint8_t bytes[40];
    struct sf_elf_section s = {.bytes = {bytes, sizeof(bytes)}};
    struct sf_buf out = {0};
    fill(bytes, 1, 5);
    assert_true(sf_elf_inflate(&s, 100, NULL, &out));
    assert_str(sf_buf_str(&out), "hello");
    sf_buf_reset(&out);
    assert_false(sf_elf_inflate(&s, 4, NULL, &out)); /* more than is allowed */
    fill(bytes, 2, 5);
    assert_false(sf_elf_inflate(&s, 100, NULL, &out)); /* zstd */
    fill(bytes, 1, 6);
    assert_false(sf_elf_inflate(&s, 100, NULL, &out)); /* shorter than it says */
    fill(bytes, 1, 4);
    assert_false(sf_elf_inflate(&s, 100, NULL, &out)); /* longer */
    fill(bytes, 1, UINT64_MAX);
    assert_false(sf_elf_inflate(&s, 100, NULL, &out));
    for (s.bytes.len = 0; s.bytes.len < sizeof(bytes); s.bytes.len++) {
        fill(bytes, 1, 5);
        assert_false(sf_elf_inflate(&s, 100, NULL, &out)); /* cut */
    }
    sf_buf_done(&out);
}
