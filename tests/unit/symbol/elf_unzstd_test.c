#include "symbol/elf_unzstd.h"

#include <zstd.h>

#include "test.h"

static size_t frame(uint8_t *out, size_t cap, const char *text)
{
    size_t len = ZSTD_compress(out, cap, text, strlen(text), 3);
    assert_false(ZSTD_isError(len));
    return len;
}

TEST(elf_unzstd, gives_what_was_compressed_and_nothing_else)
{
    uint8_t in[256], out[32];
    size_t one = frame(in, sizeof(in), "hello"), all;
    assert_true(sf_elf_unzstd_all((sf_bytes){in, one}, out, 5));
    assert_memory_equal(out, "hello", 5);
    assert_false(sf_elf_unzstd_all((sf_bytes){in, one}, out, 6)); /* shorter than told */
    assert_false(sf_elf_unzstd_all((sf_bytes){in, one}, out, 4)); /* longer */
    all = one + frame(in + one, sizeof(in) - one, " again");      /* as lld writes them */
    assert_true(sf_elf_unzstd_all((sf_bytes){in, all}, out, 11));
    assert_memory_equal(out, "hello again", 11);
    for (size_t len = 0; len < all; len++)
        assert_false(sf_elf_unzstd_all((sf_bytes){in, len}, out, 11)); /* cut */
    in[one + 4] ^= 0xff;
    assert_false(sf_elf_unzstd_all((sf_bytes){in, all}, out, 11));
}

TEST(elf_unzstd, refuses_a_window_that_no_linker_asks_for)
{
    /* Frame{magic, descriptor without size, window of 2^27 bytes, last block: raw, 1 byte}. */
    static const uint8_t in[] = {0x28, 0xb5, 0x2f, 0xfd, 0, (27 - 10) << 3, 9, 0, 0, 'x'};
    static const uint8_t fine[] = {0x28, 0xb5, 0x2f, 0xfd, 0, (20 - 10) << 3, 9, 0, 0, 'x'};
    uint8_t out;
    assert_true(sf_elf_unzstd_all((sf_bytes){fine, sizeof(fine)}, &out, 1));
    assert_false(sf_elf_unzstd_all((sf_bytes){in, sizeof(in)}, &out, 1));
}
