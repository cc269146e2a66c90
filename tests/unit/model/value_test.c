#include "test.h"

#include "base/err.h"
#include "model/value.h"

TEST(value, last_of_repeated_keys_counts)
{
    struct sf_attr list[] = {
        {SF_STR("a"), {.type = SF_VALUE_STR, .str = SF_STR("one")}},
        {SF_STR("b"), {.type = SF_VALUE_INT, .i64 = 2}},
        {SF_STR("a"), {.type = SF_VALUE_STR, .str = SF_STR("two")}},
    };
    struct sf_attrs attrs = {list, 3};
    assert_str(sf_attrs_str(attrs, SF_STR("a")), "two");
    assert_int_equal(sf_attrs_str(attrs, SF_STR("b")).len, 0);
    assert_int_equal(sf_attrs_get(attrs, SF_STR("c")).type, SF_VALUE_NONE);
}

TEST(value, nan_equals_itself)
{
    struct sf_value nan = {.type = SF_VALUE_DOUBLE, .f64 = __builtin_nan("")};
    struct sf_value one = {.type = SF_VALUE_DOUBLE, .f64 = 1.0};
    assert_true(sf_value_eq(nan, nan));
    assert_false(sf_value_eq(nan, one));
}
