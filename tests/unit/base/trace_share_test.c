#include "test.h"

#include "base/trace_share.h"

static void make_id(uint64_t n, uint8_t id[16])
{
    uint64_t halves[2] = {0, n}; /* the least random ids there are */
    memcpy(id, halves, 16);
}

TEST(trace_share, takes_its_share_and_a_smaller_one_is_part_of_a_larger)
{
    enum { N = 100000 };
    unsigned n_small = 0, n_large = 0;
    uint8_t id[16];
    for (uint64_t i = 1; i <= N; i++) {
        bool is_small, is_large;
        make_id(i, id);
        is_small = sf_trace_share_has(id, 100);
        is_large = sf_trace_share_has(id, 2500);
        assert_true(!is_small || is_large);
        n_small += is_small;
        n_large += is_large;
        assert_true(sf_trace_share_has(id, 10000) && !sf_trace_share_has(id, 0));
    }
    /* Six standard deviations of a binomial; the ids are fixed, so is the outcome. */
    assert_true(n_small > 1000 - 190 && n_small < 1000 + 190);
    assert_true(n_large > 25000 - 825 && n_large < 25000 + 825);
}

TEST(trace_share, is_the_same_for_ever)
{
    /* Other processes, and servers of other versions, choose by the same rule. */
    static const uint8_t id[16] = {0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6,
                                   0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36};
    uint32_t at = 0;
    while (!sf_trace_share_has(id, at))
        at++;
    assert_int_equal(at, 3237);
}
