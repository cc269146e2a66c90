#include "test.h"

#include "os/child.h"

static int run(const char *script, const struct sf_child_env *env, size_t n_env)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct sf_why why;
    int code = -1;
    assert_ok(sf_child_run(argv, env, n_env, &code, &why));
    return code;
}

TEST(child_run, hands_on_the_exit_status)
{
    assert_int_equal(run("exit 0", NULL, 0), 0);
    assert_int_equal(run("exit 7", NULL, 0), 7);
    assert_int_equal(run("kill -9 $$", NULL, 0), 128 + 9);
}

TEST(child_run, adds_variables_and_the_childs_own_id)
{
    const struct sf_child_env env[] = {{"CHILD_RUN_WORD", "a b"}, {"CHILD_RUN_PID", NULL}};
    assert_int_equal(run("test \"$CHILD_RUN_WORD\" = 'a b'", env, 2), 0);
    assert_int_equal(run("test \"$CHILD_RUN_PID\" = $$", env, 2), 0);
}

TEST(child_run, says_why_a_program_did_not_start)
{
    const char *const missing[] = {"/nonexistent/program", NULL}, *const folder[] = {"/", NULL};
    struct sf_why why = {0};
    int code = 42;
    assert_err(sf_child_run(missing, NULL, 0, &code, &why), SF_ERR_NOT_FOUND);
    assert_non_null(strstr(why.text, "/nonexistent/program"));
    assert_err(sf_child_run(folder, NULL, 0, &code, &why), SF_ERR_DENIED);
    assert_int_equal(code, 42);
}
