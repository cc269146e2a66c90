#include "test.h"

#include <stdio.h>

#include "base/heap.h"
#include "store/clickhouse/pin_names.h"

enum { MANY = 5000 };

static sf_str nth_name(char *buf, unsigned i)
{
    snprintf(buf, 33, "%032x", i);
    return sf_str_from(buf);
}

TEST(pin_names, finds_each_of_many_in_a_few_steps)
{
    struct sf_pin_names p = {0};
    char buf[33];
    for (unsigned i = 0; i < MANY; i++)
        assert_true(sf_pin_names_add(&p, SF_STR("shop"), nth_name(buf, i)));
    sf_table_steps = 0;
    for (unsigned i = 0; i < MANY; i++) {
        assert_true(sf_pin_names_has(&p, SF_STR("shop"), nth_name(buf, i)));
        assert_false(sf_pin_names_has(&p, SF_STR("shop"), nth_name(buf, MANY + i)));
        assert_false(sf_pin_names_has(&p, SF_STR("other"), nth_name(buf, i)));
    }
    assert_true(sf_table_steps < 3 * MANY * 20); /* a search of the list needs 3 * MANY * MANY */
    sf_pin_names_done(&p);
}

TEST(pin_names, an_empty_set_has_none_and_a_name_is_kept_once)
{
    struct sf_pin_names p = {0};
    assert_false(sf_pin_names_has(&p, SF_STR("shop"), SF_STR("a")));
    assert_true(sf_pin_names_add(&p, SF_STR("shop"), SF_STR("a")));
    assert_true(sf_pin_names_add(&p, SF_STR("shop"), SF_STR("a")));
    assert_int_equal(p.n, 1);
    assert_false(sf_pin_names_has(&p, SF_STR("sho"), SF_STR("pa"))); /* the same bytes in a row */
    sf_pin_names_done(&p);
}

TEST(pin_names, keys_differ_with_the_secret_of_the_process)
{
    struct sf_pin_names p = {0}, q = {0};
    sf_key_fix(1);
    assert_true(sf_pin_names_add(&p, SF_STR("shop"), SF_STR("a")));
    sf_key_fix(2);
    assert_true(sf_pin_names_add(&q, SF_STR("shop"), SF_STR("a")));
    assert_int_equal(p.table.n_slots, q.table.n_slots);
    assert_memory_not_equal(p.table.slots, q.table.slots, p.table.n_slots * sizeof(*p.table.slots));
    sf_pin_names_done(&p);
    sf_pin_names_done(&q);
}

TEST(pin_names, survives_every_allocation_that_fails)
{
    for (unsigned after = 1; after < 10; after++) {
        struct sf_pin_names p = {0};
        bool was_added;
        sf_heap_fail_after(after);
        was_added = sf_pin_names_add(&p, SF_STR("shop"), SF_STR("a"));
        sf_heap_fail_after(0);
        assert_int_equal(sf_pin_names_has(&p, SF_STR("shop"), SF_STR("a")), was_added);
        sf_pin_names_done(&p);
    }
}
