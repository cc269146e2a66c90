#include "test.h"

#include "model/pressure.h"

TEST(pressure, of_what_fills_goes_through_every_level_in_order)
{
    const uint64_t cap = 3200;
    enum sf_pressure last = SF_PRESSURE_NONE;
    for (uint64_t used = 0; used <= 2 * cap; used++) {
        enum sf_pressure now = sf_pressure_of_fill(used, cap);
        assert_true(now == last || now == last + 1);
        last = now;
    }
    assert_int_equal(last, SF_PRESSURE_SPANS);
    assert_int_equal(sf_pressure_of_fill(2599, cap), SF_PRESSURE_NONE);
    assert_int_equal(sf_pressure_of_fill(2600, cap), SF_PRESSURE_BASELINE);
    assert_int_equal(sf_pressure_of_fill(2700, cap), SF_PRESSURE_DETAIL);
    assert_int_equal(sf_pressure_of_fill(2800, cap), SF_PRESSURE_PROFILES);
    assert_int_equal(sf_pressure_of_fill(3000, cap), SF_PRESSURE_SPANS);
    assert_int_equal(sf_pressure_of_fill(UINT64_MAX, cap), SF_PRESSURE_SPANS);
    assert_int_equal(sf_pressure_of_fill(5, 0), SF_PRESSURE_NONE);
}

TEST(pressure, of_free_space_refuses_in_the_same_order)
{
    const uint64_t min = 1600;
    assert_int_equal(sf_pressure_of_free(2000, min), SF_PRESSURE_NONE);
    assert_int_equal(sf_pressure_of_free(1999, min), SF_PRESSURE_BASELINE);
    assert_int_equal(sf_pressure_of_free(1799, min), SF_PRESSURE_DETAIL);
    assert_int_equal(sf_pressure_of_free(1699, min), SF_PRESSURE_PROFILES);
    assert_int_equal(sf_pressure_of_free(1600, min), SF_PRESSURE_PROFILES);
    assert_int_equal(sf_pressure_of_free(1599, min), SF_PRESSURE_REFUSE);
}

TEST(pressure, of_blocks_that_wait_has_a_step_for_every_level)
{
    enum sf_pressure last = SF_PRESSURE_NONE;
    for (uint32_t n = 0; n < 200; n++) {
        enum sf_pressure now = sf_pressure_of_blocks(n, 64, 128);
        assert_true(now == last || now == last + 1);
        assert_int_equal(now == SF_PRESSURE_NONE, n < 64);
        assert_int_equal(now == SF_PRESSURE_REFUSE, n >= 128);
        last = now;
    }
    assert_int_equal(sf_pressure_of_blocks(5, 5, 5), SF_PRESSURE_REFUSE);
    assert_int_equal(sf_pressure_of_blocks(6, 6, 7), SF_PRESSURE_BASELINE);
}
