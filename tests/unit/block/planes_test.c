#include "test.h"

#include "base/num.h"
#include "block/format/planes.h"

static void round_trip(const uint64_t *vals, size_t n, unsigned want_width, uint64_t want_divisor)
{
    struct sf_buf b = {0};
    struct sf_planes p;
    uint64_t back[64];
    sf_bytes in;

    sf_planes_encode(&b, vals, n);
    in = sf_buf_bytes(&b);
    assert_true(sf_planes_parse(&in, n, &p));
    assert_int_equal(in.len, 0);
    assert_int_equal(p.width, want_width);
    assert_int_equal(p.divisor, want_divisor);
    sf_planes_decode(&p, n, back);
    assert_memory_equal(back, vals, n * sizeof(*vals));
    for (size_t len = 0; len < b.len; len++) {
        in = (sf_bytes){b.p, len};
        assert_false(sf_planes_parse(&in, n, &p));
    }
    sf_buf_done(&b);
}

TEST(planes, take_out_what_microsecond_clocks_share)
{
    const uint64_t VALS[] = {5000000, 7000, 1000, 250000};
    round_trip(VALS, 4, 2, 1000); /* 4999 units need two bytes */
}

TEST(planes, need_no_bytes_for_equal_values)
{
    const uint64_t VALS[] = {77, 77, 77};
    round_trip(VALS, 3, 0, 1);
}

TEST(planes, take_small_negative_numbers_as_such)
{
    const uint64_t VALS[] = {(uint64_t)-3, 2, (uint64_t)-1, 0};
    round_trip(VALS, 4, 1, 1);
}

TEST(planes, hold_numbers_of_every_width)
{
    for (unsigned width = 1; width <= 8; width++) {
        uint64_t vals[3] = {0, 1, UINT64_MAX >> (64 - 8 * width)};
        if (width == 8)
            vals[2] = (uint64_t)1 << 62; /* all ones would be minus one */
        round_trip(vals, 3, width, 1);
    }
}

TEST(planes, survive_the_whole_range)
{
    const uint64_t VALS[] = {0, UINT64_MAX, (uint64_t)INT64_MAX, (uint64_t)INT64_MIN};
    round_trip(VALS, 4, 8, 1);
}

TEST(planes, refuse_impossible_widths_and_codes)
{
    uint8_t raw[SF_PLANES_HEAD_LEN + 9] = {0};
    sf_bytes in = {raw, sizeof(raw)};
    struct sf_planes p;
    uint32_t codes[4];
    const uint8_t planes[4] = {0, 1, 2, 3};

    raw[16] = 9;
    assert_false(sf_planes_parse(&in, 1, &p));
    raw[16] = 8;
    assert_false(sf_planes_parse(&in, SIZE_MAX / 4, &p));
    assert_true(sf_planes_decode_codes(planes, 4, 1, 4, codes));
    assert_int_equal(codes[3], 3);
    assert_false(sf_planes_decode_codes(planes, 4, 1, 3, codes));
}

TEST(planes, of_codes_come_back_in_every_width)
{
    const uint32_t CODES[] = {0, 1, 200};
    for (unsigned width = 1; width <= 4; width *= 2) {
        struct sf_buf b = {0};
        uint32_t back[3];
        sf_planes_encode_codes(&b, CODES, 3, width);
        assert_int_equal(b.len, 3 * width);
        assert_true(sf_planes_decode_codes(b.p, 3, width, 201, back));
        assert_memory_equal(back, CODES, sizeof(CODES));
        sf_buf_done(&b);
    }
}
