#include "exec/tag_set.h"

#include <stdio.h>

#include "test.h"

static struct sf_arena req;

static struct sf_tag_set new_set(size_t memory)
{
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, memory));
    return (struct sf_tag_set){.req = &req};
}

static void add_numbers(struct sf_tag_set *s, unsigned n)
{
    char text[16];
    for (unsigned i = 0; i < n; i++) {
        snprintf(text, sizeof(text), "%06u", i);
        sf_tag_set_add(s, SF_TAG_STRING, sf_str_from(text), 1);
    }
}

TEST(tag_set, counts_and_sorts_by_frequency)
{
    struct sf_tag_set s = new_set(1 << 20);
    add_numbers(&s, 1000);
    add_numbers(&s, 10);
    sf_tag_set_add(&s, SF_TAG_STRING, SF_STR("000007"), 5);
    sf_tag_set_add(&s, SF_TAG_INT, SF_STR("000007"), 1); /* of another type: another value */
    assert_int_equal(s.n, 1001);
    sf_tag_set_sort(&s);
    assert_str(s.list[0].text, "000007");
    assert_int_equal(s.list[0].n, 7);
    assert_str(s.list[1].text, "000000");
    assert_str(s.list[10].text, "000007");
    assert_int_equal(s.list[10].type, SF_TAG_INT);
    sf_tag_set_sort_by_text(&s);
    assert_str(s.list[0].text, "000000");
    assert_false(s.is_full);
}

TEST(tag_set, cuts_to_a_number_and_to_bytes)
{
    struct sf_tag_set s = new_set(1 << 20);
    size_t room = 100;
    add_numbers(&s, 20);
    assert_false(sf_tag_set_cut(&s, 0, &room)); /* sixteen of six bytes */
    assert_int_equal(s.n, 16);
    assert_int_equal(room, 4);
    room = 100;
    assert_true(sf_tag_set_cut(&s, 16, &room));
    room = 100;
    assert_false(sf_tag_set_cut(&s, 2, &room));
    assert_int_equal(s.n, 2);
}

TEST(tag_set, goes_on_counting_when_memory_is_used_up)
{
    struct sf_tag_set s = new_set(64 << 10);
    uint32_t n;
    add_numbers(&s, 100000);
    assert_true(s.is_full);
    n = s.n;
    assert_true(n > 100);
    sf_tag_set_add(&s, SF_TAG_STRING, SF_STR("000001"), 4);
    assert_int_equal(s.list[1].n, 5);
    assert_int_equal(s.n, n);
    s = new_set(16);
    add_numbers(&s, 10);
    assert_true(s.is_full);
    assert_int_equal(s.n, 0);
}

TEST(tag_set, holds_no_more_values_than_fit_an_answer)
{
    struct sf_tag_set s = new_set(256 << 20);
    add_numbers(&s, SF_TAG_SET_MAX + 10);
    assert_int_equal(s.n, SF_TAG_SET_MAX);
    assert_true(s.is_full);
    sf_arena_done(&req);
}
