#include "test.h"

#include "base/err.h"
#include "base/str.h"

TEST(err, names_every_code)
{
    for (int e = 0; e < SF_ERR_N; e++)
        assert_non_null(sf_err_name((enum sf_err)e));
    assert_string_equal(sf_err_name(SF_ERR_UNSUPPORTED), "UNSUPPORTED");
}

TEST(err, keeps_sentences_on_one_line)
{
    struct sf_why why;
    assert_err(sf_fail(&why, SF_ERR_INPUT, "bad\n\033[31mthing"), SF_ERR_INPUT);
    assert_string_equal(why.text, "bad??[31mthing");
    sf_why_prefix(&why, "line %d", 3);
    assert_string_equal(why.text, "line 3: bad??[31mthing");
    assert_err(sf_fail(NULL, SF_ERR_IO, "nobody reads this"), SF_ERR_IO);
}

TEST(err, tells_a_heap_that_is_empty_from_a_request_that_is_too_large)
{
    struct sf_why why;
    assert_int_equal(sf_no_memory(&why, "a message"), SF_ERR_NOMEM);
    assert_string_equal(why.text, "no memory for a message");
    assert_int_equal(sf_no_room(&why, "the query"), SF_ERR_LIMIT);
    assert_string_equal(why.text, "the query does not fit its memory");
    assert_int_equal(sf_no_room(NULL, "the query"), SF_ERR_LIMIT);
}
