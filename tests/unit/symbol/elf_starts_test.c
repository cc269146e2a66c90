#include "symbol/elf_starts.h"

#include "elf_make.h"
#include "test.h"

TEST(elf_starts, finds_the_function_that_an_address_is_in)
{
    static const int32_t starts[] = {-0x7000, -0x6f00, 0x10};
    struct elf_make m = {.starts = starts, .n_starts = 3};
    struct sf_buf image = {0};
    struct sf_elf_file f;
    struct sf_elf_starts s;
    uint64_t start = 0;
    elf_make(&m, &image);
    assert_true(sf_elf_file_init(&f, sf_buf_bytes(&image)));
    assert_true(sf_elf_starts_read(&s, &f));
    assert_false(sf_elf_starts_find(&s, 0xfff, &start));
    assert_true(sf_elf_starts_find(&s, 0x1000, &start));
    assert_int_equal(start, 0x1000);
    assert_true(sf_elf_starts_find(&s, 0x10ff, &start));
    assert_int_equal(start, 0x1000);
    assert_true(sf_elf_starts_find(&s, 0x1100, &start));
    assert_int_equal(start, 0x1100);
    assert_true(sf_elf_starts_find(&s, UINT64_MAX, &start));
    assert_int_equal(start, 0x8010);
    sf_buf_done(&image);
}

TEST(elf_starts, counts_no_more_than_the_index_holds)
{
    static const int32_t starts[] = {0, 0x100};
    struct elf_make m = {.starts = starts, .n_starts = 2};
    struct sf_buf image = {0};
    struct sf_elf_file f;
    struct sf_elf_starts s;
    uint64_t start = 0;
    elf_make(&m, &image);
    assert_true(sf_elf_file_init(&f, sf_buf_bytes(&image)));
    memset(image.p + 64 + 2 * 56 + 8, 0xff, 4); /* how many there are */
    assert_true(sf_elf_starts_read(&s, &f));
    assert_int_equal(s.n, 2);
    assert_true(sf_elf_starts_find(&s, 0x8100, &start));
    image.p[64 + 2 * 56 + 3] = 0x1b; /* another way to write the table */
    assert_false(sf_elf_starts_read(&s, &f));
    assert_false(sf_elf_starts_find(&s, 0x8100, &start));
    sf_buf_done(&image);
}
