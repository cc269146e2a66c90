#include "join/compare_mix.h"

#include "test.h"

enum { MS = 1000000, SPANS = 100 };

/* SPANS spans, `n_slow` of them with the name "slow" and that duration. */
static void fill(struct sf_set_span *spans, struct sf_span_set *set, uint32_t n_slow,
                 uint64_t slow_ms, uint64_t fast_ms)
{
    for (uint32_t i = 0; i < SPANS; i++)
        spans[i] = (struct sf_set_span){.id = i + 1,
                                        .name_hash = i < n_slow ? 7 : 8,
                                        .duration_ns = (i < n_slow ? slow_ms : fast_ms) * MS};
    *set = (struct sf_span_set){.spans = spans, .n = SPANS};
}

TEST(compare_mix, is_what_the_shares_of_the_names_explain)
{
    struct sf_set_span some[SPANS], others[SPANS];
    struct sf_span_set left, right;
    struct sf_comparison_mix mix;
    fill(some, &left, 10, 200, 20);
    fill(others, &right, 60, 200, 20);
    sf_compare_mix(&left, &right, &mix);
    assert_true(mix.ns > 89.9 * MS && mix.ns < 90.1 * MS); /* all of 38 to 128 ms */
    assert_true(mix.left_share > 0.09 && mix.left_share < 0.11);
    assert_true(mix.right_share > 0.59 && mix.right_share < 0.61);
    assert_int_equal(mix.span, 1);
    fill(others, &right, 60, 260, 20); /* and each is slower, too */
    sf_compare_mix(&left, &right, &mix);
    assert_true(mix.ns > 100 * MS && mix.ns < 110 * MS);
}

TEST(compare_mix, is_nothing_if_the_shares_are_the_same)
{
    struct sf_set_span some[SPANS], others[SPANS];
    struct sf_span_set left, right;
    struct sf_comparison_mix mix;
    fill(some, &left, 30, 200, 20);
    fill(others, &right, 30, 400, 40);
    sf_compare_mix(&left, &right, &mix);
    assert_true(mix.ns == 0);
    fill(others, &right, 36, 200, 20); /* may be chance */
    sf_compare_mix(&left, &right, &mix);
    assert_true(mix.ns == 0);
    right.n = 0;
    sf_compare_mix(&left, &right, &mix);
    assert_true(mix.ns == 0);
}

TEST(compare_mix, tells_a_bounded_number_of_names_apart)
{
    static struct sf_set_span some[1000], others[1000];
    struct sf_span_set left = {.spans = some, .n = 1000}, right = {.spans = others, .n = 1000};
    struct sf_comparison_mix mix;
    for (uint32_t i = 0; i < 1000; i++) {
        some[i] = (struct sf_set_span){.id = i + 1, .name_hash = i, .duration_ns = MS};
        others[i] = (struct sf_set_span){.id = i + 1, .name_hash = 2000 + i, .duration_ns = 9 * MS};
    }
    sf_compare_mix(&left, &right, &mix);
    assert_true(mix.left_share >= 0 && mix.right_share <= 1);
}
