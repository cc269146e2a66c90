#include "test.h"

#include "base/buf.h"
#include "symbol/dwarf_names.h"
#include "symbol/dwarf_unit.h"

static const struct sf_dwarf_code in_list = {.ranges = {.kind = SF_DWARF_NUMBER, .u = 0}};

static void must_next(struct sf_dwarf_ranges *r, uint64_t want_lo, uint64_t want_hi)
{
    uint64_t lo, hi;
    assert_true(sf_dwarf_ranges_next(r, &lo, &hi));
    assert_int_equal(lo, want_lo);
    assert_int_equal(hi, want_hi);
}

static void must_end(struct sf_dwarf_ranges *r)
{
    uint64_t lo, hi;
    assert_false(sf_dwarf_ranges_next(r, &lo, &hi));
    assert_false(sf_dwarf_ranges_next(r, &lo, &hi));
}

TEST(dwarf_ranges, has_two_ends_or_an_end_and_a_length)
{
    struct sf_dwarf d = {.work_left = 100};
    struct sf_dwarf_unit unit = {.version = 4, .addr_size = 8, .off_size = 4};
    struct sf_dwarf_code code = {.low = {.kind = SF_DWARF_ADDRESS, .u = 0x1000},
                                 .high = {.kind = SF_DWARF_NUMBER, .u = 0x20}};
    struct sf_dwarf_ranges r;
    sf_dwarf_ranges_init(&r, &d, &unit, &code);
    must_next(&r, 0x1000, 0x1020);
    must_end(&r);
    code.high = (struct sf_dwarf_value){.kind = SF_DWARF_ADDRESS, .u = 0x1010};
    sf_dwarf_ranges_init(&r, &d, &unit, &code);
    must_next(&r, 0x1000, 0x1010);
    code.low.u = 0; /* left out by the linker */
    sf_dwarf_ranges_init(&r, &d, &unit, &code);
    must_end(&r);
    sf_dwarf_ranges_init(&r, &d, &unit, &(struct sf_dwarf_code){0});
    must_end(&r);
}

TEST(dwarf_ranges, counts_old_lists_from_their_base)
{
    static const uint64_t list[] = {0x10, 0x20, UINT64_MAX, 0x5000, 0x1, 0x2, 0x9, 0x9 /* empty */,
                                    0,    0,    0x30,       0x40};
    struct sf_dwarf d = {.ranges = {(const uint8_t *)list, sizeof(list)}, .work_left = 100};
    struct sf_dwarf_unit unit = {.version = 4, .addr_size = 8, .off_size = 4, .base = 0x1000};
    struct sf_dwarf_ranges r;
    sf_dwarf_ranges_init(&r, &d, &unit, &in_list);
    must_next(&r, 0x1010, 0x1020);
    must_next(&r, 0x5001, 0x5002);
    must_end(&r);
    d.work_left = 1;
    sf_dwarf_ranges_init(&r, &d, &unit, &in_list);
    must_next(&r, 0x1010, 0x1020);
    must_end(&r);
}

/* One of each kind, found by its place in the table of lists. */
TEST(dwarf_ranges, reads_every_kind_of_new_list)
{
    static const uint64_t addresses[] = {0x100, 0x7000, 0x7100};
    struct sf_dwarf_unit unit = {.version = 5,
                                 .addr_size = 8,
                                 .off_size = 4,
                                 .base = 0x1000,
                                 .addr_base = 0,
                                 .rnglists_base = 4};
    struct sf_dwarf_code code = {.ranges = {.kind = SF_DWARF_LIST_AT, .u = 1}};
    struct sf_buf b = {0};
    struct sf_dwarf d = {.addr = {(const uint8_t *)addresses, sizeof(addresses)}, .work_left = 100};
    struct sf_dwarf_ranges r;
    sf_buf_add_u32le(&b, 0);  /* before the table */
    sf_buf_add_u32le(&b, 99); /* the first of its two offsets */
    sf_buf_add_u32le(&b, 8);
    sf_buf_add(&b, (uint8_t[]){SF_RANGE_OFFSET_PAIR, 1, 2}, 3);
    sf_buf_add(&b, (uint8_t[]){SF_RANGE_BASE_INDEX, 0, SF_RANGE_OFFSET_PAIR, 1, 2}, 5);
    sf_buf_add(&b, (uint8_t[]){SF_RANGE_START_INDEX_END_INDEX, 1, 2}, 3);
    sf_buf_add(&b, (uint8_t[]){SF_RANGE_START_INDEX_LEN, 2, 3}, 3);
    sf_buf_add_u8(&b, SF_RANGE_BASE);
    sf_buf_add_u64le(&b, 0x9000);
    sf_buf_add(&b, (uint8_t[]){SF_RANGE_OFFSET_PAIR, 4, 5}, 3);
    sf_buf_add_u8(&b, SF_RANGE_START_END);
    sf_buf_add_u64le(&b, 0xa000);
    sf_buf_add_u64le(&b, 0xa001);
    sf_buf_add_u8(&b, SF_RANGE_START_LEN);
    sf_buf_add_u64le(&b, 0xb000);
    sf_buf_add(&b, (uint8_t[]){7, SF_RANGE_END}, 2);
    d.rnglists = sf_buf_bytes(&b);
    sf_dwarf_ranges_init(&r, &d, &unit, &code);
    must_next(&r, 0x1001, 0x1002);
    must_next(&r, 0x101, 0x102);
    must_next(&r, 0x7000, 0x7100);
    must_next(&r, 0x7100, 0x7103);
    must_next(&r, 0x9004, 0x9005);
    must_next(&r, 0xa000, 0xa001);
    must_next(&r, 0xb000, 0xb007);
    must_end(&r);
    for (size_t len = 0; len < b.len; len++) { /* cut anywhere */
        uint64_t lo, hi;
        d.rnglists.len = len;
        sf_dwarf_ranges_init(&r, &d, &unit, &code);
        while (sf_dwarf_ranges_next(&r, &lo, &hi))
            assert_true(lo < hi);
    }
    sf_buf_done(&b);
}
