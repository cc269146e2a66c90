#include "test.h"

#include "collect/lib/frame_names.h"
#include "collect/lib/profile_table.h"
#include "collect/lib/symbol_budget.h"

#define MS ((int64_t)1000000)

__attribute__((noinline)) int a_function_to_be_named(int x);
__attribute__((noinline)) int a_function_to_be_named(int x)
{
    volatile int y = x;
    for (int i = 0; i < x; i++)
        y += i * y;
    return y;
}

static uint64_t here(uint64_t more)
{
    return (uint64_t)(uintptr_t)a_function_to_be_named + more;
}

/* What a profile with that address says of it, with so much credit. */
static struct sf_named_frame name_with(struct sf_symbol_budget *b, int64_t credit_ns, uint64_t at)
{
    struct sf_profile_table t = {0};
    const struct sf_profile_table *list = &t;
    struct sf_raw_sample s = {.n_frames = 1, .frames = {at}, .values = {1, 1}};
    struct sf_frame_names names;
    static struct sf_named_frame f;
    b->credit_ns = credit_ns;
    sf_profile_table_add(&t, &s);
    sf_frame_names_open(&names, b);
    sf_frame_names_look_up(&names, &list, 1);
    sf_frame_names_find(&names, at, &f);
    sf_frame_names_close(&names);
    sf_profile_table_done(&t);
    return f;
}

TEST(frame_names, are_read_as_far_as_there_is_credit)
{
    struct sf_symbol_budget b = {0};
    struct sf_named_frame f;
    assert_true(sf_modules_refresh());
    f = name_with(&b, 0, here(4));
    assert_true(f.module > 0);
    assert_int_equal(f.n_lines, 0); /* its address is sent */
    assert_int_equal(b.credit_ns, 0);

    f = name_with(&b, MS, here(4));
    assert_int_equal(f.n_lines, 1);
    assert_str(f.lines[0].name, "a_function_to_be_named");
    assert_int_equal(f.lines[0].line, 0);
    assert_true(b.credit_ns < MS);

    f = name_with(&b, 0, here(5)); /* another place in it, and no file is read */
    assert_int_equal(f.n_lines, 1);
    assert_str(f.lines[0].name, "a_function_to_be_named");
    assert_int_equal(b.credit_ns, 0);

    f = name_with(&b, SF_SYMBOL_CREDIT_MOST_NS, here(5));
    assert_int_equal(f.n_lines, 1);
    assert_str(f.lines[0].name, "a_function_to_be_named");
    assert_true(f.lines[0].line > 0 && f.lines[0].file.len > 0);
    assert_true(b.credit_ns < SF_SYMBOL_CREDIT_MOST_NS);

    f = name_with(&b, 0, here(5)); /* it is kept */
    assert_true(f.lines[0].line > 0);
}

TEST(frame_names, are_whole_without_a_budget)
{
    struct sf_profile_table t = {0};
    const struct sf_profile_table *list = &t;
    struct sf_raw_sample s = {.n_frames = 1, .frames = {here(4)}, .values = {1, 1}};
    struct sf_frame_names names;
    struct sf_named_frame f;
    assert_true(sf_modules_refresh());
    sf_profile_table_add(&t, &s);
    sf_frame_names_open(&names, NULL);
    sf_frame_names_look_up(&names, &list, 1);
    sf_frame_names_find(&names, here(4), &f);
    assert_int_equal(f.n_lines, 1);
    assert_true(f.lines[0].line > 0);
    sf_frame_names_close(&names);
    sf_profile_table_done(&t);
}
