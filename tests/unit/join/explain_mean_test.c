#include "join/explain_mean.h"

#include <math.h>

#include "link/explain_part.h"
#include "test.h"

static struct sf_arena arena;

/* The interval of the mean of spans that ran 1 to n ms. */
static struct sf_explain_part mean_of(int n)
{
    struct sf_explain_mean m;
    struct sf_explain_part *parts;
    uint32_t n_parts;
    int64_t ns;
    sf_explain_mean_init(&m, &arena);
    for (int i = 1; i <= n; i++) {
        struct sf_explain_part p = sf_explain_part_named(SF_PART_CPU);
        p.ns = i * 1000000;
        assert_true(sf_explain_mean_add(&m, &p, 1));
    }
    assert_true(sf_explain_mean_give(&m, n, 4, &parts, &n_parts, &ns));
    assert_int_equal(n_parts, 1);
    assert_int_equal(parts[0].ns, ns);
    return parts[0];
}

TEST(explain_mean, has_an_interval_of_students_t)
{
    assert_true(sf_arena_init(&arena, 1 << 20));
    /* Eight values, mean 4.5 ms, standard error 0.8660 ms; t of 7 degrees of freedom is 2.3646. */
    struct sf_explain_part p = mean_of(8);
    assert_true(fabs(p.low_ns - (4.5e6 - 2.3646 * 866025)) < 1000);
    assert_true(fabs(p.high_ns - (4.5e6 + 2.3646 * 866025)) < 1000);
    p = mean_of(7);
    assert_true(isnan(p.low_ns) && isnan(p.high_ns));
    sf_arena_done(&arena);
}
