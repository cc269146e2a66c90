#include "test.h"

#include "base/buf.h"
#include "base/heap.h"

TEST(buf, keeps_the_first_fault)
{
    struct sf_buf b = {.max = 10};
    sf_buf_add_str(&b, SF_STR("12345678"));
    sf_buf_add_str(&b, SF_STR("abc"));
    sf_buf_add_str(&b, SF_STR("x"));
    assert_int_equal(b.err, SF_ERR_LIMIT);
    assert_int_equal(b.len, 8);
    sf_buf_reset(&b);
    assert_true(sf_buf_ok(&b));
    sf_buf_done(&b);
}

TEST(buf, reports_that_memory_ran_out)
{
    struct sf_buf b = {0};
    sf_heap_fail_after(1);
    sf_buf_add_u64le(&b, 1);
    sf_heap_fail_after(0);
    assert_int_equal(b.err, SF_ERR_NOMEM);
    sf_buf_done(&b);
}

TEST(buf, prints_behind_what_is_there)
{
    struct sf_buf b = {0};
    sf_buf_add_u8(&b, 'a');
    sf_buf_print(&b, "%d-%s", 42, "z");
    assert_str(sf_buf_str(&b), "a42-z");
    sf_buf_done(&b);
}

TEST(buf, writes_varints_the_same_near_the_end_of_its_room)
{
    static const uint64_t values[] = {0, 127, 128, 300, UINT32_MAX, UINT64_MAX};
    struct sf_buf fast = {0}, slow = {.max = 100000};
    for (int i = 0; i < 1000; i++) {
        sf_buf_add_varint(&fast, values[i % 6]);
        sf_buf_add_varint(&slow, values[i % 6]);
    }
    assert_true(sf_buf_ok(&fast) && sf_buf_ok(&slow));
    assert_int_equal(fast.len, slow.len);
    assert_memory_equal(fast.p, slow.p, fast.len);
    sf_buf_done(&fast);
    sf_buf_done(&slow);
}

TEST(buf, keeps_its_cap_for_varints)
{
    struct sf_buf b = {.max = 2};
    sf_buf_add_varint(&b, 300);
    assert_true(sf_buf_ok(&b));
    sf_buf_add_varint(&b, 1);
    assert_int_equal(b.err, SF_ERR_LIMIT);
    assert_int_equal(b.len, 2);
    sf_buf_done(&b);
}
