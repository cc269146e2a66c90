#include "test.h"

#include "collect/lib/function_map.h"

static uint32_t line_at(const struct sf_function_map *m, uint64_t at)
{
    const struct sf_function_place *p = sf_function_map_find(m, at);
    return p ? p->line : 0;
}

TEST(function_map, finds_the_function_that_holds_an_address)
{
    struct sf_function_map m = {0};
    assert_null(sf_function_map_find(&m, 0));
    sf_function_map_add(&m, &(struct sf_function_place){200, 300, 2});
    sf_function_map_add(&m, &(struct sf_function_place){100, 150, 1});
    sf_function_map_add(&m, &(struct sf_function_place){300, 301, 3});
    assert_int_equal(line_at(&m, 99), 0);
    assert_int_equal(line_at(&m, 100), 1);
    assert_int_equal(line_at(&m, 149), 1);
    assert_int_equal(line_at(&m, 150), 0);
    assert_int_equal(line_at(&m, 299), 2);
    assert_int_equal(line_at(&m, 300), 3);
    assert_int_equal(line_at(&m, 301), 0);
    sf_function_map_done(&m);
}

TEST(function_map, keeps_none_that_lies_over_another)
{
    struct sf_function_map m = {0};
    sf_function_map_add(&m, &(struct sf_function_place){100, 200, 1});
    sf_function_map_add(&m, &(struct sf_function_place){50, 101, 2});
    sf_function_map_add(&m, &(struct sf_function_place){199, 250, 3});
    sf_function_map_add(&m, &(struct sf_function_place){120, 130, 4});
    sf_function_map_add(&m, &(struct sf_function_place){50, 300, 5});
    sf_function_map_add(&m, &(struct sf_function_place){300, 300, 6});
    sf_function_map_add(&m, &(struct sf_function_place){UINT64_MAX - 1, 5, 7});
    for (uint64_t at = 0; at < 400; at++)
        assert_int_equal(line_at(&m, at), at >= 100 && at < 200);
    sf_function_map_done(&m);
}
