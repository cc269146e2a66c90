#include "test.h"

#include "base/hash.h"
#include "base/num.h"
#include "wal/wal_segment.h"

static struct sf_wal_segment example(void)
{
    return (struct sf_wal_segment){.sequence = 7,
                                   .first_lsn = 1000,
                                   .created_ns = 1763200000000000000,
                                   .n_pages = 16384,
                                   .store_uuid = "0123456789abcde"};
}

TEST(wal_segment, comes_back_as_it_was)
{
    uint8_t page[SF_WAL_PAGE];
    struct sf_wal_segment in = example(), out = {0};
    sf_wal_segment_encode(&in, page);
    assert_int_equal(sf_wal_segment_decode(page, &out), SF_WAL_SEGMENT_OK);
    assert_int_equal(out.sequence, 7);
    assert_int_equal(out.first_lsn, 1000);
    assert_int_equal(out.created_ns, in.created_ns);
    assert_int_equal(out.seed, in.seed);
    assert_int_equal(out.n_pages, 16384);
    assert_memory_equal(out.store_uuid, in.store_uuid, 16);
}

TEST(wal_segment, survives_any_flipped_bit_and_tells)
{
    uint8_t page[SF_WAL_PAGE];
    struct sf_wal_segment in = example();
    sf_wal_segment_encode(&in, page);
    for (size_t copy = 0; copy < 2; copy++) {
        for (size_t bit = 0; bit < 64 * 8; bit++) {
            struct sf_wal_segment out = {0};
            uint8_t *at = page + copy * 2048 + bit / 8;
            *at ^= (uint8_t)(1 << (bit % 8));
            assert_int_equal(sf_wal_segment_decode(page, &out), SF_WAL_SEGMENT_REPAIRED);
            assert_int_equal(out.first_lsn, 1000);
            *at ^= (uint8_t)(1 << (bit % 8));
        }
    }
}

/* The page lies where records were put together: none of them may go to disk with it. */
TEST(wal_segment, has_nothing_else_on_its_page)
{
    uint8_t page[SF_WAL_PAGE];
    struct sf_wal_segment in = example();
    memset(page, 0xaa, sizeof(page));
    sf_wal_segment_encode(&in, page);
    for (size_t i = 0; i < sizeof(page); i++) {
        if (i % 2048 >= 64)
            assert_int_equal(page[i], 0);
    }
}

TEST(wal_segment, of_a_later_format_is_not_read)
{
    uint8_t page[SF_WAL_PAGE];
    struct sf_wal_segment in = example(), out = {0};
    sf_wal_segment_encode(&in, page);
    page[48]++;
    sf_store_u64le(page + 56, sf_hash(page, 56));
    assert_false(sf_wal_segment_decode_header(page, &out));
    assert_int_equal(out.sequence, 0);
}

TEST(wal_segment, is_empty_when_zero_and_damaged_otherwise)
{
    uint8_t page[SF_WAL_PAGE] = {0};
    struct sf_wal_segment in = example(), out = {0};
    assert_int_equal(sf_wal_segment_decode(page, &out), SF_WAL_SEGMENT_EMPTY);
    page[4095] = 1;
    assert_int_equal(sf_wal_segment_decode(page, &out), SF_WAL_SEGMENT_DAMAGED);
    sf_wal_segment_encode(&in, page);
    page[9] ^= 1;
    page[2048 + 20] ^= 1;
    assert_int_equal(sf_wal_segment_decode(page, &out), SF_WAL_SEGMENT_DAMAGED);
}

TEST(wal_segment, torn_between_its_copies_is_the_newer_life)
{
    uint8_t page[SF_WAL_PAGE], newer[SF_WAL_PAGE];
    struct sf_wal_segment in = example(), next = example(), out = {0};
    next.sequence = 8;
    sf_wal_segment_encode(&in, page);
    sf_wal_segment_encode(&next, newer);
    memcpy(page + 2048, newer + 2048, 512);
    assert_int_equal(sf_wal_segment_decode(page, &out), SF_WAL_SEGMENT_OK);
    assert_int_equal(out.sequence, 8);
    memcpy(page, newer, 512);
    sf_wal_segment_encode(&in, newer);
    memcpy(page + 2048, newer + 2048, 512);
    assert_int_equal(sf_wal_segment_decode(page, &out), SF_WAL_SEGMENT_OK);
    assert_int_equal(out.sequence, 8);
}
