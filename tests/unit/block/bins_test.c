#include "test.h"

#include <stdlib.h>

#include "base/num.h"
#include "block/format/bins.h"

static struct sf_bins_work work;
static uint64_t rng = 5;

static uint64_t draw(void)
{
    rng = rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return rng >> 11 ^ rng << 40;
}

/* The bytes they took. Cut anywhere they are refused, and so is anything behind them left alone. */
static size_t round_trip(const int64_t *vals, uint32_t n)
{
    static int64_t back[SF_BINS_VALUES_MAX];
    struct sf_buf b = {0};
    sf_bins_encode(&b, vals, n, &work);
    size_t len = b.len;
    sf_buf_add_u8(&b, 0xa5);
    assert_true(sf_buf_ok(&b));
    struct sf_cursor c = sf_cursor_of(sf_buf_bytes(&b));
    assert_true(sf_bins_decode(&c, back, n));
    assert_int_equal(sf_cursor_left(&c), 1);
    assert_memory_equal(back, vals, n * sizeof(*vals));
    for (size_t cut = 0; cut < len; cut += 1 + len / 50) {
        uint8_t *copy = malloc(cut ? cut : 1);
        assert_non_null(copy);
        memcpy(copy, b.p, cut);
        c = sf_cursor_of((sf_bytes){copy, cut});
        assert_false(sf_bins_decode(&c, back, n));
        free(copy);
    }
    sf_buf_done(&b);
    return len;
}

TEST(bins, need_no_bits_for_equal_numbers)
{
    static int64_t vals[SF_BINS_VALUES_MAX];
    for (uint32_t i = 0; i < SF_BINS_VALUES_MAX; i++)
        vals[i] = 10000000;
    assert_in_range(round_trip(vals, SF_BINS_VALUES_MAX), 1, 12);
    assert_in_range(round_trip(vals, 1), 1, 12);
}

TEST(bins, survive_the_whole_range)
{
    const int64_t VALS[] = {0, -1, INT64_MAX, INT64_MIN, 1, INT64_MIN + 1, INT64_MAX - 1, 77};
    for (uint32_t n = 1; n <= 8; n++)
        round_trip(VALS, n);
}

TEST(bins, take_what_numbers_share_as_a_divisor)
{
    static int64_t vals[1000];
    for (uint32_t i = 0; i < 1000; i++)
        vals[i] = 7 + (int64_t)(draw() % 256) * 1000000;
    assert_in_range(round_trip(vals, 1000), 900, 1100);
}

/* One number of two is a constant among noise of ten bits: (1 + 11) / 2 bits each. */
TEST(bins, make_a_number_that_is_often_cheap)
{
    static int64_t vals[4000];
    for (uint32_t i = 0; i < 4000; i++)
        vals[i] = i % 2 ? 500 : (int64_t)(draw() % 1024);
    assert_in_range(round_trip(vals, 4000), 2500, 3300);
}

/* A number far away costs itself, not the others. */
TEST(bins, keep_strangers_apart)
{
    static int64_t vals[4000];
    for (uint32_t i = 0; i < 4000; i++)
        vals[i] = (int64_t)(draw() % 256);
    size_t before = round_trip(vals, 4000);
    vals[1234] = INT64_MIN;
    vals[2345] = INT64_MAX;
    assert_in_range(round_trip(vals, 4000), before, before + 150);
}

TEST(bins, hold_any_shape_and_count)
{
    static int64_t vals[SF_BINS_VALUES_MAX];
    for (unsigned round = 0; round < 400; round++) {
        uint32_t n = round < 130 ? round + 1 : 1 + (uint32_t)(draw() % SF_BINS_VALUES_MAX);
        unsigned shape = (unsigned)(draw() % 5), most = 1 + (unsigned)(draw() % 63);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t v = draw() >> (64 - most);
            vals[i] = shape == 0   ? (int64_t)v
                      : shape == 1 ? (int64_t)(v >> draw() % most) /* all sizes */
                      : shape == 2 ? (int64_t)(i / 70 * 1000)      /* a staircase */
                      : shape == 3
                          ? (int64_t)(v % 3) - 1                    /* few */
                          : (int64_t) - ((v >> draw() % most) * 9); /* negative, and beyond */
        }
        round_trip(vals, n);
    }
}

/* All but one of 4,000 are alike: a code of whole bits would take 500 bytes. */
TEST(bins, make_what_nearly_all_are_nearly_free)
{
    static int64_t vals[4000];
    vals[999] = 3;
    assert_in_range(round_trip(vals, 4000), 1, 40);
}

TEST(bins, refuse_states_that_are_none)
{
    static const struct {
        uint8_t bytes[16];
        size_t len;
    } BAD[] = {
        {{0, 0, 1}, 3},                             /* no bins */
        {{65, 0, 1}, 3},                            /* too many */
        {{1, 0, 0, 0, 0}, 5},                       /* divisor 0 */
        {{1, 0, 1, 0, 65}, 5},                      /* an offset of 65 bits */
        {{2, 0, 1, 0, 0, 0, 1, 0, 32, 0}, 10},      /* a bin without states */
        {{2, 0, 1, 0, 0, 16, 1, 0, 15, 0}, 10},     /* 31 states */
        {{2, 0, 1, 0, 0, 8, 1, 0, 8, 0}, 10},       /* 16 */
        {{2, 0, 1, 0, 0, 16, 1, 0, 16, 32, 0}, 11}, /* the first is none of 32 */
        {{2, 0, 1, 0, 0, 16, 1, 0, 16, 5, 0}, 11},  /* the last is not 0 */
        {{1, 0, 1, 0, 1, 0x1f}, 6},                 /* what is left over is not 0 */
    };
    int64_t vals[4];
    for (size_t i = 0; i < sizeof(BAD) / sizeof(*BAD); i++) {
        struct sf_cursor c = sf_cursor_of((sf_bytes){BAD[i].bytes, BAD[i].len});
        assert_false(sf_bins_decode(&c, vals, 4));
    }
    struct sf_cursor good = sf_cursor_of((sf_bytes){(const uint8_t *)"\1\0\2\5\1\x05", 6});
    assert_true(sf_bins_decode(&good, vals, 4));
    assert_true(vals[0] == 12 && vals[1] == 10 && vals[2] == 12 && vals[3] == 10);
}
