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

struct pieces {
    struct sf_buf all;
    unsigned n;
    enum sf_err err;
};

static enum sf_err take_piece(void *arg, struct sf_buf *b)
{
    struct pieces *p = arg;
    if (p->err)
        return p->err;
    sf_buf_add(&p->all, b->p, b->len);
    p->n++;
    sf_buf_reset(b);
    return SF_OK;
}

TEST(buf, spills_what_it_holds_piece_by_piece)
{
    struct pieces got = {0};
    struct sf_buf b = {.spill = take_piece, .spill_arg = &got, .spill_len = 10};
    for (int i = 0; i < 100; i++)
        sf_buf_print(&b, "%02d,", i);
    assert_true(sf_buf_ok(&b));
    assert_in_range(got.n, 20, 30);
    assert_true(b.len < 20);
    sf_buf_add(&got.all, b.p, b.len);
    assert_int_equal(got.all.len, 300);
    assert_memory_equal(got.all.p + 297, "99,", 3);
    got.err = SF_ERR_CANCELLED; /* a reader that disconnected ends it */
    for (int i = 0; i < 100; i++)
        sf_buf_print(&b, "%02d,", i);
    assert_int_equal(b.err, SF_ERR_CANCELLED);
    sf_buf_done(&b);
    sf_buf_done(&got.all);
}
