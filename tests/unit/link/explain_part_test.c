#include "link/explain_part.h"

#include <math.h>

#include "test.h"

static struct sf_explain_part part(enum sf_ledger_part which, int64_t ns)
{
    struct sf_explain_part p = sf_explain_part_named(which);
    p.ns = ns;
    p.low_ns = p.high_ns = (double)ns;
    return p;
}

TEST(explain_part, comes_to_the_duration_to_the_last_nanosecond_largest_first)
{
    struct sf_explain_part parts[] = {part(SF_PART_LOCK, 10), part(SF_PART_CPU, 33),
                                      part(SF_PART_UNKNOWN, 55)};
    sf_explain_parts_fit(parts, 3, 100);
    assert_string_equal(parts[0].name, "unknown");
    assert_string_equal(parts[1].name, "on_cpu");
    assert_string_equal(parts[2].name, "lock");
    assert_int_equal(parts[0].ns + parts[1].ns + parts[2].ns, 100);
    sf_explain_parts_fit(NULL, 0, 100);
}

TEST(explain_part, bounds_what_is_unknown_by_the_others)
{
    struct sf_explain_part parts[] = {part(SF_PART_CPU, 60), part(SF_PART_UNKNOWN, 40)};
    parts[0].low_ns = 50;
    parts[0].high_ns = 75;
    sf_explain_parts_fit(parts, 2, 100);
    assert_int_equal(parts[1].low_ns, 40); /* of several spans it keeps its own interval */
    sf_explain_parts_bound_unknown(parts, 2, 100);
    assert_int_equal(parts[1].low_ns, 25);
    assert_int_equal(parts[1].high_ns, 50);
}

TEST(explain_part, orders_differences_by_their_amount)
{
    struct sf_explain_part parts[] = {part(SF_PART_CPU, 20), part(SF_PART_LOCK, -60)};
    sf_explain_parts_fit(parts, 2, -40);
    assert_string_equal(parts[0].name, "lock");
    assert_int_equal(parts[0].ns + parts[1].ns, -40);
}

TEST(explain_part, knows_what_was_measured_and_bounds_what_was_sampled)
{
    struct sf_explain_part p = part(SF_PART_CPU, 50);
    sf_explain_part_bound(&p, 50, 0, 0, 100);
    assert_true(p.low_ns == 50 && p.high_ns == 50);
    sf_explain_part_bound(&p, 50, 10, 0, 100); /* samples that are worth nothing */
    assert_true(p.low_ns == 50 && p.high_ns == 50);
    sf_explain_part_bound(&p, 50, 0, 5, 100);
    assert_true(p.low_ns == 50 && p.high_ns == 50);
    sf_explain_part_bound(&p, 0, 50, 5, 100); /* 5 of 10 samples */
    assert_true(p.low_ns > 15 && p.low_ns < 30);
    assert_true(p.high_ns > 70 && p.high_ns <= 85);
    sf_explain_part_bound(&p, 40, 10, 5, 100); /* most of it was measured */
    assert_true(p.low_ns >= 40 && p.high_ns <= 70);
}

TEST(explain_part, bounds_a_function_by_its_share_of_the_samples)
{
    struct sf_hot_piece piece = {
        .function = SF_STR("match"), .library = SF_STR("PCRE"), .value = 40, .library_value = 30};
    struct sf_explain_function f = sf_explain_part_function_of(&piece, 100, 100);
    assert_true(f.low_ns > 29 && f.low_ns < 32 && f.high_ns > 48 && f.high_ns < 51);
    assert_true(sf_str_eq(f.library, SF_STR("PCRE")));
    f = sf_explain_part_function_of(&piece, 100, 0);
    assert_true(f.low_ns == 40 && f.high_ns == 40);
    piece.library_value = 10;
    assert_int_equal(sf_explain_part_function_of(&piece, 100, 0).library.len, 0);
}
