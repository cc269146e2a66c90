#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "os/child.h"
#include "os/dir.h"

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

static void write_program(const char *path, const char *bytes, size_t len)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

/* As in a shell: sh runs text without "#!", but not a damaged program, for which it would say 127,
 * the status of a program that was not found. */
TEST(child_run, refuses_a_damaged_program_and_runs_a_script)
{
    char folder[128], path[160], search[256];
    const char *const by_path[] = {path, NULL}, *const by_name[] = {"program", NULL};
    const char *before = getenv("PATH");
    struct sf_why why = {0};
    int code = 42;
    assert_ok(sf_dir_make_temporary("child_run", folder, sizeof(folder), NULL));
    snprintf(path, sizeof(path), "%s/program", folder);
    snprintf(search, sizeof(search), "/nonexistent:%s:/usr/bin:/bin", folder);

    write_program(path,
                  "\x7f"
                  "ELFgarbage",
                  11);
    assert_err(sf_child_run(by_path, NULL, 0, &code, &why), SF_ERR_IO);
    assert_non_null(strstr(why.text, "Exec format error"));
    char *kept = before ? strdup(before) : NULL;
    assert_int_equal(setenv("PATH", search, 1), 0);
    assert_err(sf_child_run(by_name, NULL, 0, &code, &why), SF_ERR_IO);
    write_program(path, "exit\0 3\n", 8);
    assert_err(sf_child_run(by_name, NULL, 0, &code, &why), SF_ERR_IO);
    assert_int_equal(code, 42);

    write_program(path, "exit 5\n\0", 8);
    assert_ok(sf_child_run(by_name, NULL, 0, &code, &why));
    assert_int_equal(code, 5);
    write_program(path, "", 0);
    assert_ok(sf_child_run(by_path, NULL, 0, &code, &why));
    assert_int_equal(code, 0);
    if (kept)
        setenv("PATH", kept, 1);
    free(kept);
    assert_ok(sf_dir_delete_tree(folder, NULL));
}
