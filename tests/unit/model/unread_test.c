#include "model/unread.h"

#include "test.h"

static const char *said(const struct sf_unread *m)
{
    static char text[200];
    sf_unread_say(m, text, sizeof(text));
    return text;
}

TEST(unread, counts_each_part_once_and_names_the_first)
{
    struct sf_unread m = {0};
    sf_unread_add(NULL, 1, "nobody asks");
    assert_string_equal(said(&m), "");
    sf_unread_add(&m, 17, "block 17 is damaged");
    sf_unread_add(&m, 17, "block 17 is damaged");
    assert_string_equal(said(&m), "some stored data could not be read: block 17 is damaged; "
                                  "GET /ready says more");
    sf_unread_add(&m, 3, "block 3 is damaged");
    assert_string_equal(said(&m), "some stored data could not be read: block 17 is damaged "
                                  "and 1 other; GET /ready says more");
    for (uint64_t i = 100; i < 100 + SF_UNREAD_PARTS; i++)
        sf_unread_add(&m, i, "one more");
    assert_string_equal(said(&m), "some stored data could not be read: block 17 is damaged "
                                  "and more than 7 others; GET /ready says more");
}

TEST(unread, lists_are_joined)
{
    struct sf_unread m = {0}, other = {0};
    sf_unread_join(NULL, &other);
    sf_unread_add(&other, 17, "block 17 is damaged");
    sf_unread_add(&other, 3, "block 3 is damaged");
    sf_unread_join(&m, &other);
    sf_unread_join(&m, &other);
    assert_string_equal(said(&m), "some stored data could not be read: block 17 is damaged "
                                  "and 1 other; GET /ready says more");
    assert_int_equal(m.n, 2);
}
