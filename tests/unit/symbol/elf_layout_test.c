#include "symbol/elf_layout.h"

#include "elf_make.h"
#include "test.h"

static bool read_layout(const struct elf_make *m, struct sf_elf_layout *out)
{
    struct sf_buf image = {0};
    struct sf_elf_file f;
    bool ok;
    elf_make(m, &image);
    assert_true(sf_elf_file_init(&f, sf_buf_bytes(&image)));
    ok = sf_elf_layout_read(out, &f);
    sf_buf_done(&image);
    return ok;
}

static uint64_t address_of(const struct sf_elf_layout *l, uint64_t off)
{
    uint64_t at = 0;
    return sf_elf_layout_address(l, off, &at) ? at : UINT64_MAX;
}

TEST(elf_layout, turns_offsets_into_the_linkers_addresses)
{
    struct elf_make m = {.off = 0x1000, .at = 0x401000, .file_len = 0x2000, .memory_len = 0x2000};
    struct sf_elf_layout l;
    uint64_t off;
    assert_true(read_layout(&m, &l));
    assert_int_equal(address_of(&l, 0x1000), 0x401000);
    assert_int_equal(address_of(&l, 0x2fff), 0x402fff);
    assert_int_equal(address_of(&l, 0x3000), UINT64_MAX);
    assert_int_equal(address_of(&l, 0xfff), UINT64_MAX);
    assert_int_equal(address_of(&l, 0x401234), 0x401234); /* an address already */
    assert_true(sf_elf_layout_offset(&l, 0x401010, &off));
    assert_int_equal(off, 0x1010);
    assert_false(sf_elf_layout_offset(&l, 0x1010, &off));
}

TEST(elf_layout, concludes_the_offsets_that_a_debug_file_has_lost)
{
    struct elf_make m = {
        .off = 0, .at = 0x401000, .memory_len = 0x2000, .first_at = 0x400000, .first_len = 0x300};
    struct sf_elf_layout l;
    assert_true(read_layout(&m, &l));
    assert_int_equal(address_of(&l, 0x1010), 0x401010);
}

/* A linker that saves the padding gives code an address that is not its offset: a wrong name would
 * be worse than none. */
TEST(elf_layout, is_not_known_where_linkers_differ)
{
    struct elf_make m = {.off = 0, .at = 0x1640, .memory_len = 0x2000, .first_len = 0x640};
    struct sf_elf_layout l;
    assert_false(read_layout(&m, &l));
    m.off = 0x640;
    m.file_len = m.memory_len;
    assert_true(read_layout(&m, &l));
    assert_int_equal(address_of(&l, 0x650), 0x1650);
}

TEST(elf_layout, refuses_headers_outside_of_the_file)
{
    struct elf_make m = {.off = 0x1000, .at = 0x1000, .file_len = 0x2000, .memory_len = 0x2000};
    struct sf_buf image = {0};
    struct sf_elf_layout l;
    struct sf_elf_file f;
    elf_make(&m, &image);
    assert_true(sf_elf_file_init(&f, sf_buf_bytes(&image)));
    memset(image.p + 32, 0xff, 8); /* e_phoff */
    assert_false(sf_elf_layout_read(&l, &f));
    memset(image.p + 32, 0, 8);
    memcpy(image.p + 32, &(uint64_t){image.len - 8}, 8);
    assert_false(sf_elf_layout_read(&l, &f));
    sf_buf_done(&image);
}
