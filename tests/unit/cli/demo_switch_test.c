#include "cli/demo_switch.h"

#include <stdio.h>
#include <string.h>

#include "os/dir.h"
#include "os/text_file.h"
#include "test.h"

static struct sf_why why;

TEST(demo_switch, refuses_a_name_that_is_no_problem)
{
    struct sf_demo_switches s = {0};
    assert_err(sf_demo_switches_read(&s, "regex,lok", &why), SF_ERR_INPUT);
    assert_string_equal(why.text, "there is no problem \"lok\"; did you mean lock?");
    assert_err(sf_demo_switches_read(&s, "", &why), SF_OK);
    assert_err(sf_demo_switches_read(&s, NULL, &why), SF_OK);
}

TEST(demo_switch, every_name_fits_a_record)
{
    for (size_t i = 0; i < SF_DEMO_PROBLEMS; i++) {
        size_t at = SF_DEMO_PROBLEMS;
        assert_true(strlen(sf_demo_problems[i].name) < 15);
        assert_true(sf_demo_switch_problem_find(sf_str_from(sf_demo_problems[i].name), &at));
        assert_int_equal(at, i);
        assert_non_null(sf_demo_problems[i].service);
        assert_non_null(sf_demo_problems[i].cost);
    }
}

/* The byte that says on or off of a problem, as a service reads it. */
static char byte_of(const struct sf_demo_switches *s, size_t at)
{
    struct sf_buf text = {0};
    char byte;
    assert_ok(sf_text_file_read(s->path, 4096, &text, &why));
    assert_int_equal(text.len, 16 * SF_DEMO_PROBLEMS);
    assert_string_equal((const char *)text.p + 16 * at, sf_demo_problems[at].name);
    byte = (char)text.p[16 * at + 15];
    sf_buf_done(&text);
    return byte;
}

TEST(demo_switch, a_switch_changes_one_byte_of_the_file)
{
    struct sf_demo_switches s = {0};
    char home[256];
    size_t lock = 0, json = 0;
    assert_true(sf_demo_switch_problem_find(SF_STR("lock"), &lock));
    assert_true(sf_demo_switch_problem_find(SF_STR("json"), &json));
    assert_ok(sf_dir_make_temporary("spanflame-test", home, sizeof(home), &why));
    assert_ok(sf_demo_switches_read(&s, "lock", &why));
    assert_ok(sf_demo_switches_open(&s, home, &why));
    assert_int_equal(byte_of(&s, lock), '0');
    assert_int_equal(byte_of(&s, json), '1');
    assert_false(sf_demo_switches_are_all_on(&s));
    assert_ok(sf_demo_switches_set(&s, lock, false, &why));
    assert_int_equal(byte_of(&s, lock), '1');
    assert_int_equal(byte_of(&s, json), '1');
    assert_true(s.was_off[lock]);
    assert_false(s.was_off[json]);
    sf_demo_switches_close(&s);
    assert_ok(sf_dir_delete_tree(home, &why));
}
